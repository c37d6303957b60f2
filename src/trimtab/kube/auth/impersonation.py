"""Acting as somebody else: who, and the headers that ask for it.

Pure. Whether the caller may do so is the API server's decision.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

#: what a header name may hold by RFC 9110, without `%`, which marks an encoded byte here
_PLAIN_IN_A_HEADER_NAME: Final = frozenset(f"{string.ascii_letters}{string.digits}!#$&'*+-.^_`|~".encode())


class Impersonation(Struct, frozen=True, kw_only=True):
    """The user to act as; empty in every field means to act as oneself."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = MappingProxyType({})


def impersonation_headers(who: Impersonation) -> tuple[tuple[str, str], ...]:
    """The headers in the order they are sent; groups and extra values repeat theirs."""
    headers = [("Impersonate-User", who.user)] if who.user else []
    headers += [("Impersonate-Uid", who.uid)] if who.uid else []
    headers += [("Impersonate-Group", group) for group in who.groups]
    for key, values in who.extra.items():
        headers += [(f"Impersonate-Extra-{_header_name(key)}", value) for value in values]
    return tuple(headers)


def impersonation_problem(who: Impersonation) -> str:
    """What is wrong with it, or nothing."""
    if not who.user and (who.uid or who.groups or who.extra):
        return "uid, groups or extra values are given, but no user to act as"
    if not all(is_sendable(value) for _, value in impersonation_headers(who)):
        return "what to act as holds line breaks or control characters"
    if not all(key and is_sendable(key) for key in who.extra):
        return "a key of the extra values is empty or holds control characters"
    return ""


def is_sendable(value: str) -> bool:
    """Can this text be the value of an HTTP header?"""
    return not any(ord(char) < 0x20 or ord(char) == 0x7F or 0xD800 <= ord(char) <= 0xDFFF for char in value)


def _header_name(key: str) -> str:
    """The key with every byte that a header name cannot hold percent-encoded, as client-go does it."""
    encoded = key.encode(errors="replace")
    return "".join(chr(byte) if byte in _PLAIN_IN_A_HEADER_NAME else f"%{byte:02X}" for byte in encoded)
