"""The entries of a credentials file: what may be written there, and which credentials they amount to. Pure.

Reading the file, and the files that its entries name, is the business of `credentialfile`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct

from trimtab.errors import InvalidSpec
from trimtab.kube.auth.redaction import Secret, quoted
from trimtab.shapes import Shape
from trimtab.sources.repositories.credentials import (
    Basic,
    Bearer,
    Belonging,
    ClientCertificate,
    Credential,
    Login,
    SshKey,
    Trust,
    scope_of,
)

_NOTHING: Final = Secret("")
_EXAMPLE: Final = "docs/repositories.md shows an example"


class Files(Protocol):
    """Reads the files that entries name."""

    def text(self, path: str) -> str:
        """The content of a file that everybody may know."""

    def secret(self, path: str) -> Secret:
        """The content of a file that must not be readable by everybody."""


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One credential and the address that it is for, as people write it; paths count from the file."""

    url: str
    username: str = ""
    password: Secret = _NOTHING
    password_file: str = ""
    token: Secret = _NOTHING
    token_file: str = ""
    ssh_key_file: str = ""
    known_hosts_file: str = ""
    ca_file: str = ""
    client_certificate_file: str = ""
    client_key_file: str = ""
    proxy: Secret = _NOTHING
    no_proxy: str = ""
    insecure: bool = False

    @property
    def holds_secrets(self) -> bool:
        """Whether somebody who reads the entry alone learns a secret."""
        return bool(self.password or self.token or self.proxy)


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    credential: tuple[Entry, ...] = ()


def entries_in(text: str, subject: str) -> tuple[Entry, ...]:
    """The entries of a file; a complaint says where it is wrong, never what stands there."""
    try:
        decoded = tomllib.loads(text)
        return _FILE.of(decoded).credential
    except msgspec.ValidationError as exc:
        raise InvalidSpec(subject, f"an entry cannot be meant: {exc}", _EXAMPLE) from exc
    except (ValueError, RecursionError) as exc:  # a number of thousands of digits is a plain ValueError
        raise InvalidSpec(subject, f"it is not TOML: {exc}", _EXAMPLE) from exc


def _secret(kind: type, written: Any) -> Secret:
    if kind is not Secret or not isinstance(written, str):
        raise msgspec.ValidationError("Expected text")
    return Secret(written)


_FILE: Final = Shape(_File, dec_hook=_secret)


def belongings_of(entries: Iterable[Entry], files: Files, subject: str) -> tuple[Belonging, ...]:
    """What the entries amount to: each is for its address and everything below it."""
    found: dict[object, Belonging] = {}
    for number, entry in enumerate(entries, start=1):
        name = f"entry {number} of {subject}"
        belonging = Belonging(
            url=entry.url, credential=_credential(entry, files, name), below=True, name=name
        )
        scope = _scope(belonging)
        if scope in found:
            raise InvalidSpec(name, f"{found[scope].name} is for the same address", "Keep one of them")
        found[scope] = belonging
    return tuple(found.values())


def _scope(belonging: Belonging) -> object:
    try:
        return scope_of(belonging)
    except InvalidSpec as exc:
        raise InvalidSpec(belonging.name, f"its url is wrong: {exc.reason}", exc.remedy) from exc


def _credential(entry: Entry, files: Files, name: str) -> Credential:
    trust = Trust(
        ca=_public(entry.ca_file, files),
        known_hosts=_public(entry.known_hosts_file, files),
        insecure=entry.insecure,
        proxy=entry.proxy,
        no_proxy=entry.no_proxy,
    )
    return Credential(
        login=_login(entry, files, name), certificate=_certificate(entry, files, name), trust=trust
    )


def _login(entry: Entry, files: Files, name: str) -> Login | None:
    password = _given(entry.password, entry.password_file, "password", files, name)
    token = _given(entry.token, entry.token_file, "token", files, name)
    ways = [way for way, given in (("password", password), ("token", token)) if given]
    ways += ["ssh_key_file"] if entry.ssh_key_file else []
    if len(ways) > 1:
        raise InvalidSpec(name, f"it has a {ways[0]} and a {ways[1]}", "Keep the one that the server wants")
    if password:
        if not entry.username:
            remedy = "Add a username; servers that want a token as password say which name goes with it"
            raise InvalidSpec(name, "it has a password and no username", remedy)
        return Basic(username=entry.username, password=password)
    if entry.username:
        raise InvalidSpec(name, f"it has the username {quoted(entry.username)} alone", "Add a password_file")
    if token:
        return Bearer(token=token)
    return SshKey(key=files.secret(entry.ssh_key_file)) if entry.ssh_key_file else None


def _given(written: Secret, file: str, what: str, files: Files, name: str) -> Secret:
    """A secret that stands in the entry, or in a file of its own; such a file often ends with a line end."""
    if written and file:
        raise InvalidSpec(name, f"it has both {what} and {what}_file", "Keep one of them")
    if not file:
        return written
    secret = Secret(files.secret(file).reveal().rstrip("\r\n"))
    if not secret:
        raise InvalidSpec(name, f"its {what}_file is empty", f"Write the {what} into it")
    return secret


def _certificate(entry: Entry, files: Files, name: str) -> ClientCertificate | None:
    certificate, key = entry.client_certificate_file, entry.client_key_file
    if not certificate and not key:
        return None
    if not certificate or not key:
        reason = "a client certificate needs client_certificate_file and client_key_file"
        raise InvalidSpec(name, reason, "Name both")
    return ClientCertificate(certificate=files.text(certificate), key=files.secret(key))


def _public(file: str, files: Files) -> str:
    return files.text(file) if file else ""
