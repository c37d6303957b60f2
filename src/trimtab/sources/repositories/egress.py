"""Where we may connect to: the one rule for every address that a tenant can name. Pure.

Names are judged by what they resolve to, at the moment of connecting, and the connection is then made to
exactly the addresses that were judged: a name that changes its meaning in between gains nothing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Final, TypeAlias

from msgspec import Struct

from trimtab.errors import InvalidSpec, SourceRefused
from trimtab.settings import RepositoriesSettings
from trimtab.sources.repositories.addresses import Address

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

#: addresses of clouds' metadata services that no general rule covers
_METADATA: Final = tuple(
    ipaddress.ip_network(network)
    for network in ("100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::/32")
)
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_BY_OPERATOR: Final = "lies in a network that the operator has refused"


class Egress(Struct, frozen=True, kw_only=True):
    """Which schemes, hosts and networks may be reached."""

    schemes: frozenset[str]
    #: names that may be reached wherever they point; `*.example` means every name below
    hosts: tuple[str, ...] = ()
    #: networks that may be reached although the rule forbids them
    networks: tuple[IpNetwork, ...] = ()
    #: networks that may not be reached although the rule allows them
    refused: tuple[IpNetwork, ...] = ()


def egress_of(settings: RepositoriesSettings) -> Egress:
    """The rule that the settings ask for."""
    allowed = [(entry, _network(entry)) for entry in settings.allow_hosts]
    return Egress(
        schemes=frozenset(settings.allow_schemes),
        hosts=tuple(entry.lower() for entry, network in allowed if network is None),
        networks=tuple(network for _, network in allowed if network is not None),
        refused=tuple(_known_network(entry) for entry in settings.refuse_networks),
    )


def check_scheme(address: Address, egress: Egress) -> None:
    """Refuse an address whose scheme is not allowed."""
    scheme = address.scheme.value
    if scheme not in egress.schemes:
        raise SourceRefused(
            f"repository {address}",
            f"{scheme} is not an allowed way to reach a repository",
            f"Use {' or '.join(sorted(egress.schemes))}, or allow it: the setting repositories.allow_schemes="
            f"{','.join(sorted({*egress.schemes, scheme}))}",
        )


def checked_addresses(host: str, found: Iterable[str], egress: Egress) -> tuple[str, ...]:
    """The addresses of a host, all of which may be connected to; `SourceRefused` if any may not.

    One bad address condemns them all: whoever mixes good and bad ones does not mean well.
    """
    addresses = tuple(dict.fromkeys(found))
    for address in addresses:
        why = _objection(host, ipaddress.ip_address(address), egress)
        if why:
            raise SourceRefused(f"host {host}", f"{address} {why}", _remedy(why))
    return addresses


def _objection(host: str, address: IpAddress, egress: Egress) -> str:
    """Why an address may not be connected to; empty if it may."""
    meant = _meant(address)
    if any(
        each in network for each in meant for network in egress.refused if network.version == each.version
    ):
        return _BY_OPERATOR
    if _names(host, egress.hosts):
        return ""
    for each in meant:
        allowed = any(each in network for network in egress.networks if network.version == each.version)
        why = "" if allowed else _nature(each)
        if why:
            return why
    return ""


def _remedy(objection: str) -> str:
    """What would help: what the operator has refused cannot be allowed beside it."""
    if objection == _BY_OPERATOR:
        return "Use another address, or take the network out of the setting repositories.refuse_networks"
    return "Use a public address, or allow it: the setting repositories.allow_hosts"


def _nature(address: IpAddress) -> str:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return ""  # it is what it wraps, and that is judged by itself; not every Python sees through it
    kinds = (
        (address.is_loopback, "is this machine itself"),
        (address.is_link_local, "is a link-local address"),
        (address.is_unspecified, "is no address of a machine"),
        (address.is_multicast, "is a multicast address"),
        (address.is_reserved and not isinstance(address, ipaddress.IPv6Address), "is a reserved address"),
        (any(address in network for network in _METADATA), "is the metadata service of a cloud"),
    )
    return next((f"{words}, which is not allowed" for holds, words in kinds if holds), "")


def _meant(address: IpAddress) -> tuple[IpAddress, ...]:
    """An address and those that are wrapped in it."""
    if isinstance(address, ipaddress.IPv4Address):
        return (address,)
    wrapped = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        wrapped.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    if int(address) < 1 << 32 and int(address) > 1:
        wrapped.append(ipaddress.IPv4Address(int(address)))
    return (address, *(each for each in wrapped if each is not None))


def _names(host: str, patterns: Iterable[str]) -> bool:
    return any(
        host == pattern or (pattern.startswith("*.") and host.endswith(pattern[1:])) for pattern in patterns
    )


def _network(text: str) -> IpNetwork | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _known_network(text: str) -> IpNetwork:
    network = _network(text)
    if network is None:
        remedy = "Write it like 10.96.0.0/12"
        raise InvalidSpec("setting repositories.refuse_networks", f"{text!r} is no network", remedy)
    return network
