"""What a chart depends on: as it is declared, as a lock pins it, and what of it has to be fetched. Pure.

All is read as `helm dependency build` reads it. The versions of a lock count if there is one, provided that
it was made for these very declarations. What its dependencies depend on is theirs to bring along.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

#: how the repository of a chart begins that lies in the same tree
LOCAL: Final = "file://"
#: how names begin that only one person's own helm can look up
ALIASES: Final = ("@", "alias:")
_OLD: Final = "v1"
#: what Go's encoder of JSON does not print as it is
_ESCAPED: Final = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


class Needed(Struct, frozen=True, kw_only=True):
    """One chart that another needs."""

    name: str
    #: a version or a range of versions
    version: str
    repository: str


class Dependency(Struct, frozen=True, kw_only=True):
    """A chart to fetch before the one that needs it can be rendered."""

    repository: str
    name: str
    target: str
    #: whether the credential is also for other hosts that the repository names
    pass_credentials: bool = False

    @property
    def tree(self) -> str:
        """The name of its tree among those of a render; the same however often it is rendered."""
        words = "\0".join((self.repository, self.name, self.target, str(self.pass_credentials)))
        return f"chart.{hashlib.sha256(words.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


class DependenciesWanted(Exception):
    """A render cannot go on before these charts are there."""

    def __init__(self, dependencies: tuple[Dependency, ...]) -> None:
        super().__init__(*(each.name for each in dependencies))
        self.dependencies = dependencies


class Declared(Struct, frozen=True, kw_only=True):
    """The declarations of a chart, as helm takes them."""

    #: those that name a chart, with helm's fields alone and in helm's order
    entries: tuple[dict[str, Any], ...] = ()
    #: whether the chart is of the first format, whose locks may have been made by Helm 2
    is_old: bool = False

    @property
    def needed(self) -> tuple[Needed, ...]:
        """What is needed, version by range."""
        return tuple(map(_needed, self.entries))


class Lock(Struct, frozen=True, kw_only=True):
    """The versions that were once chosen, and what tells whether they still count."""

    entries: tuple[dict[str, Any], ...]
    digest: str

    @property
    def needed(self) -> tuple[Needed, ...]:
        """What is needed, each in one version."""
        return tuple(map(_needed, self.entries))

    def is_for(self, declared: Declared) -> bool:
        """Whether it was made for these declarations."""
        if self.digest == _digest([declared.entries, self.entries]):
            return True
        return declared.is_old and self.digest == _digest({"dependencies": declared.entries})


def declared_in(chart: Any, requirements: Any = None) -> Declared:
    """What a chart declares, in its own file or, if there is one, in that of older charts."""
    listed = _listed(requirements)
    found = _listed(chart) if listed is None else listed
    is_old = isinstance(chart, Mapping) and chart.get("apiVersion") == _OLD
    return Declared(entries=tuple(_entry(each, clean=True) for each in found or ()), is_old=is_old)


def lock_in(content: Any) -> Lock:
    """The lock that a file holds."""
    digest = content.get("digest") if isinstance(content, Mapping) else None
    entries = tuple(_entry(each, clean=False) for each in _listed(content) or ())
    return Lock(entries=entries, digest=_text(digest))


def _listed(content: Any) -> list[Mapping[str, Any]] | None:
    """The dependencies that a file lists; None if it has no such list."""
    found = content.get("dependencies") if isinstance(content, Mapping) else None
    if not isinstance(found, list):
        return None
    return [each for each in found if isinstance(each, Mapping) and isinstance(each.get("name"), str)]


def _needed(entry: Mapping[str, Any]) -> Needed:
    return Needed(name=entry["name"], version=entry.get("version", ""), repository=entry["repository"])


def _entry(found: Mapping[str, Any], *, clean: bool) -> dict[str, Any]:
    """A dependency as helm writes it; what is empty is left out, but for name and repository."""
    text = _clean if clean else _text
    tags = found.get("tags")
    values = found.get("import-values")
    optional = {
        "condition": text(found.get("condition")),
        "tags": [text(tag) for tag in tags] if isinstance(tags, list) else [],
        "enabled": found.get("enabled") is True,
        "import-values": _by_name(values) if isinstance(values, list) else [],
        "alias": _text(found.get("alias")),
    }
    version = text(found.get("version"))
    entry: dict[str, Any] = {"name": text(found["name"])}
    entry |= {"version": version} if version else {}
    entry["repository"] = text(found.get("repository"))
    return entry | {name: value for name, value in optional.items() if value}


def _text(value: Any) -> str:
    """A text as helm reads it, which also takes numbers for one."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if value.is_integer() else str(value)
    return "" if value is None else str(value)


def _clean(value: Any) -> str:
    """The same without what cannot be printed."""
    text = _text(value)
    if text.isprintable():
        return text
    return "".join(" " if sign.isspace() else sign for sign in text if sign.isspace() or sign.isprintable())


def _by_name(value: Any) -> Any:
    """A value whose maps are in the order in which Go writes maps."""
    if isinstance(value, Mapping):
        return {str(name): _by_name(value[name]) for name in sorted(value, key=str)}
    return [_by_name(each) for each in value] if isinstance(value, list) else value


def _digest(value: Any) -> str:
    """Names a value by its JSON, as Go writes it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)
    encoded = text.translate(_ESCAPED).encode("utf-8", "surrogatepass")
    return f"sha256:{hashlib.sha256(encoded).hexdigest()}"
