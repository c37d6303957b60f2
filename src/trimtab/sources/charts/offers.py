"""What a chart repository offers, and which version of it is meant. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from trimtab.errors import InvalidSpec, SourceRefused
from trimtab.resources.yaml import Limits, forgiven
from trimtab.sources.charts.wishes import INDEX
from trimtab.sources.rendering.paths import shown
from trimtab.sources.repositories.versions import newest, range_of

_DIGEST: Final = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
#: a version that means one chart and no other
_EXACT: Final = re.compile(r"v?\d{1,18}\.\d{1,18}\.\d{1,18}([-+][0-9A-Za-z.+-]+)?")
_NEWEST: Final = frozenset({"", "HEAD"})


class Offer(Struct, frozen=True, kw_only=True, gc=False):
    """One version of a chart, as its repository tells of it."""

    version: str
    #: where its archive lies; may be relative to the repository
    url: str
    #: SHA-256 of the archive; empty if the repository does not say
    digest: str = ""


def offers_in(index: bytes, subject: str, most: int) -> dict[str, list[Offer]]:
    """All that an index offers, by the names of charts; what cannot be meant is left out, as helm does."""
    try:
        content = forgiven(index, INDEX, Limits(size=most)).value
    except InvalidSpec as error:
        reason = f"its index cannot be read: {error.reason}"
        raise SourceRefused(subject, reason, "Look at the repository") from error
    entries = content.get("entries") if isinstance(content, dict) else None
    if not isinstance(entries, dict):
        raise SourceRefused(subject, "its index is not that of a chart repository", "Mend the address")
    return {
        str(name): [offer for each in versions if (offer := _offer(each)) is not None]
        for name, versions in entries.items()
        if isinstance(versions, list)
    }


def _offer(entry: Any) -> Offer | None:
    if not isinstance(entry, Mapping):
        return None
    version, urls = entry.get("version"), entry.get("urls")
    if not isinstance(version, str) or not isinstance(urls, list) or not urls or not isinstance(urls[0], str):
        return None
    digest = _DIGEST.fullmatch(str(entry.get("digest") or ""))
    return Offer(version=version, url=urls[0], digest=digest[1] if digest else "")


def is_exact(target: str) -> bool:
    """Whether a target means one version and no other."""
    return _EXACT.fullmatch(target) is not None


def chosen(target: str, versions: Iterable[str], subject: str) -> str | None:
    """The version that is meant: exactly that one, else the newest in the range; None if there is none."""
    known = frozenset(versions)
    if target in known:
        return target
    span = range_of("*" if target in _NEWEST else target)
    if span is None:
        reason = f"{shown(target)} is neither a version nor a range of versions"
        raise InvalidSpec(subject, reason, "Write it like 1.2.3 or ^1.2")
    return newest(span, known)
