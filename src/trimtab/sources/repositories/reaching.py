"""Finds out where a repository's host is, has that judged, and pins the connection to what was judged.

The rule itself is in `egress`. Names are resolved here and nowhere else; git and ssh are told the
addresses, so that a name cannot mean one thing to the judge and another to the one who connects.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import structs

from trimtab.errors import GitUnreachable, InvalidSpec, SourceRefused
from trimtab.files import read_file
from trimtab.kube.auth.redaction import Secret
from trimtab.settings import RepositoriesSettings
from trimtab.sources.repositories.addresses import Address, Scheme
from trimtab.sources.repositories.credentials import Credential, check, proxy_address, uses_proxy
from trimtab.sources.repositories.egress import Egress, check_scheme, checked_addresses, egress_of
from trimtab.sources.repositories.gitsetup import Reach

#: the addresses of a host, best first; an OSError if it has none
Resolve: TypeAlias = Callable[[str, int], Awaitable[tuple[str, ...]]]

_LARGEST: Final = 16 << 20


async def resolve(host: str, port: int) -> tuple[str, ...]:
    """The addresses that the machine's resolver gives."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(str(sockaddr[0]) for *_, sockaddr in found)


class Gate:
    """The one way out: every repository is reached through here."""

    def __init__(self, settings: RepositoriesSettings, *, resolve: Resolve = resolve) -> None:
        """Take the operator's rules, and who resolves names."""
        self._settings = settings
        self._egress: Egress = egress_of(settings)
        self._resolve = resolve
        self._known_hosts = _read(settings.known_hosts_file, "repositories.known_hosts_file")
        self._ca = _read(settings.ca_file, "repositories.ca_file")

    async def reach(self, address: Address, credential: Credential) -> Reach:
        """How to reach a repository, now; `SourceRefused` if it may not be, before anything is sent."""
        check_scheme(address, self._egress)
        check(credential, address, allow_insecure=self._settings.allow_insecure)
        effective, proxied_by_us = self._with_proxy(credential)
        pins: tuple[str, ...] = ()
        if address.scheme is not Scheme.FILE:
            pins = await self._pins(address, effective, trusted_proxy=proxied_by_us)
        self._check_host_keys(address, credential)
        return Reach(
            address=address,
            credential=effective,
            pins=pins,
            known_hosts=self._known_hosts,
            ca=self._ca,
            stall=self._settings.stall_timeout,
        )

    def _with_proxy(self, credential: Credential) -> tuple[Credential, bool]:
        """The credential with the operator's proxy, if it brings none; and whether it is the operator's."""
        if credential.trust.proxy or not self._settings.proxy:
            return credential, False
        proxy, no_proxy = Secret(self._settings.proxy), self._settings.no_proxy
        trust = structs.replace(credential.trust, proxy=proxy, no_proxy=no_proxy)
        return structs.replace(credential, trust=trust), True

    async def _pins(
        self, address: Address, credential: Credential, *, trusted_proxy: bool
    ) -> tuple[str, ...]:
        if not uses_proxy(address, credential.trust):
            return checked_addresses(address.host, await self._found(address), self._egress)
        checked_addresses(address.host, _literal(address.host), self._egress)
        host, port = proxy_address(credential.trust)
        proxy = structs.replace(address, host=host, port=port)
        found = await self._found(proxy)
        return found if trusted_proxy else checked_addresses(host, found, self._egress)

    async def _found(self, address: Address) -> tuple[str, ...]:
        subject = f"host {address.host}"
        try:
            async with asyncio.timeout(self._settings.list_timeout.total_seconds()):
                found = await self._resolve(address.host, address.port)
        except (OSError, UnicodeError, TimeoutError) as exc:
            raise GitUnreachable(subject, "its name cannot be resolved", "Mend the name, or the DNS") from exc
        if not found:
            raise GitUnreachable(subject, "its name has no address", "Mend the name, or the DNS")
        return found

    def _check_host_keys(self, address: Address, credential: Credential) -> None:
        trust = credential.trust
        if address.scheme is not Scheme.SSH or trust.insecure or trust.known_hosts or self._known_hosts:
            return
        remedy = "Give known hosts with the credential, or set repositories.known_hosts_file"
        raise SourceRefused(f"host {address.host}", "no SSH host key of it is known", remedy)


def _literal(host: str) -> tuple[str, ...]:
    """A host that is an address already; a proxy resolves the others by itself."""
    try:
        return (str(ipaddress.ip_address(host)),)
    except ValueError:
        return ()


def _read(path: str | None, setting: str) -> str:
    if path is None:
        return ""
    subject = f"setting {setting}"
    try:
        return read_file(Path(path).expanduser(), subject=subject, which=path, limit=_LARGEST).decode()
    except UnicodeDecodeError as exc:
        raise InvalidSpec(subject, f"{path} is not text", "Mend the path") from exc
