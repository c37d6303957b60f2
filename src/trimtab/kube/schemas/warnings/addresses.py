"""Addresses and networks that can be read and yet are not in the form in which they should be written. Pure.

Forms that programs read differently (zeros in front, IPv4 dressed as IPv6) are refused by validation.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from trimtab.kube.gotext import quoted


def address(path: str, value: str) -> Iterator[str]:
    """What is to be said of an address in a field."""
    try:
        found = ipaddress.ip_address(value)
    except ValueError:
        return
    if found.version == 6 and str(found) != value:
        yield f"{path}: IPv6 address {quoted(value)} {_better(str(found))}"


def network(path: str, value: str) -> Iterator[str]:
    """What is to be said of a network in a field."""
    try:
        found = ipaddress.ip_network(value)
    except ValueError:
        return
    if found.version == 6 and str(found) != value:
        yield f"{path}: IPv6 CIDR value {quoted(value)} {_better(str(found))}"


def _better(form: str) -> str:
    return f"should be in RFC 5952 canonical format ({quoted(form)})"
