"""What a consumer wants of a chart repository or a registry, and what it is given. Pure.

A `ChartRevision` is handed only to those whose own credential has opened the repository.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct, structs

from trimtab.errors import InvalidSpec, SourceRefused
from trimtab.sources.rendering.paths import shown
from trimtab.sources.repositories.addresses import Address, Scheme, address_of
from trimtab.sources.repositories.credentials import ANONYMOUS, Belonging, Credential, belonging_for

OCI: Final = "oci://"
INDEX: Final = "index.yaml"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}(/[A-Za-z0-9][A-Za-z0-9._-]{0,100})*")


class WantedChart(Struct, frozen=True, kw_only=True):
    """A chart and which version of it a consumer wants."""

    #: a chart repository, https://…, or a registry, oci://…
    url: str
    name: str
    #: a version, or a range of versions; empty or HEAD: the newest that is no pre-release
    target: str = ""
    #: the credentials that this consumer may use; the one for the address is chosen among them
    credentials: tuple[Belonging, ...] = ()
    #: whether the credential is also for other hosts that the repository says its charts lie on
    pass_credentials: bool = False

    @property
    def subject(self) -> str:
        """Whom a message is about."""
        return f"chart {shown(self.name)} of {shown(self.url.rpartition('@')[2])}"


class ChartRevision(Struct, frozen=True, kw_only=True):
    """One version of a chart, whose archive lies on the shelf."""

    url: str
    name: str
    version: str
    #: SHA-256 of the archive
    digest: str
    archive: str
    #: bytes that it may unpack to
    largest: int


class Brought(Struct, frozen=True, kw_only=True):
    """A chart that was wanted, and what its consumer is to be told about it."""

    revision: ChartRevision
    #: why it is the one that was found last; empty if it is what there is now
    warning: str = ""


class Access(Struct, frozen=True, kw_only=True):
    """Where a chart is asked for, and with what."""

    #: the index of a chart repository, or the chart in a registry
    place: Address
    credential: Credential
    #: how messages call the credential; empty if there is none
    name: str
    is_registry: bool


def access_of(wanted: WantedChart) -> Access:
    """Where a chart is asked for, and with which credential; nothing is asked yet."""
    is_registry = wanted.url.startswith(OCI)
    if not _NAME.fullmatch(wanted.name) or (not is_registry and "/" in wanted.name):
        raise InvalidSpec(wanted.subject, "that is no name of a chart", "Mend the name")
    if not is_registry and not wanted.url.startswith(("https://", "http://")):
        remedy = "Write https://… for a chart repository, or oci://… for a registry"
        raise InvalidSpec(wanted.subject, "charts do not come from such an address", remedy)
    base = f"https://{wanted.url.removeprefix(OCI)}" if is_registry else wanted.url
    chart = address_of(f"{base.rstrip('/')}/{wanted.name}")
    if chart.scheme not in {Scheme.HTTPS, Scheme.HTTP}:
        raise InvalidSpec(wanted.subject, "its address names no host", "Mend the address")
    place = chart if is_registry else address_of(f"{base.rstrip('/')}/{INDEX}")
    shown_there = belonging_for(chart, wanted.credentials) or _exact(base, wanted.credentials)
    return Access(
        place=place,
        credential=shown_there.credential if shown_there else ANONYMOUS,
        name=(shown_there.name or f"the credential for {shown_there.url}") if shown_there else "",
        is_registry=is_registry,
    )


def in_registry(wanted: WantedChart, url: str) -> WantedChart:
    """The wish for the chart of a registry that an index names: `oci://host/path/name:version`."""
    place, _, tag = url.rpartition(":")
    repository, _, name = place.rpartition("/")
    if not tag or "/" in tag or not repository.startswith(OCI):
        raise SourceRefused(wanted.subject, "its index names a link that may not be followed")
    return structs.replace(wanted, url=repository, name=name, target=tag.replace("_", "+"))


def _exact(base: str, known: tuple[Belonging, ...]) -> Belonging | None:
    """The credential for exactly the repository, which may be a host alone."""
    try:
        return belonging_for(address_of(base), known)
    except InvalidSpec:
        return None
