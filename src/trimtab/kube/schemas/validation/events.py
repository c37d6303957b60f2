"""What is wrong with events: those of old, and those that say who reports them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from trimtab.kube.gotext import Shown
from trimtab.kube.schemas.validation.causes import Causes, each_invalid, invalid, part, required
from trimtab.kube.schemas.validation.metadata import IMMUTABLE, finalizers_are_qualified, metadata_update
from trimtab.kube.schemas.validation.names import qualified_name

Json = Mapping[str, Any]
LONGEST_WORD, LONGEST_NOTE = 128, 1024
TYPES = ("Normal", "Warning")
DEFAULT, SYSTEM = "default", "kube-system"


class Names(NamedTuple):
    """How a group calls what an event is about, who reports it, and what it says."""

    about: str
    reporter: str
    note: str


OLD = Names("involvedObject", "reportingComponent", "message")
NEW = Names("regarding", "reportingController", "note")
#: what only events of the core group may have, and how it is called there
DEPRECATED = {
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "deprecatedSource": "source",
}


def old_event(manifest: Json) -> Causes:
    """What is wrong with an Event of the core group, new or changed."""
    yield from _common(manifest, OLD)


def event(manifest: Json) -> Causes:
    """What is wrong with a new Event of events.k8s.io."""
    yield from _common(manifest, NEW)
    yield from _series(manifest)
    if not manifest.get("eventTime"):
        yield required("eventTime")
    if (kind := manifest.get("type", "")) not in TYPES:
        yield invalid("type", "", f"has invalid value: {kind}")
    for name, told in DEPRECATED.items():
        if manifest.get(name):
            yield invalid(told, "", "needs to be unset")


def _common(manifest: Json, names: Names) -> Causes:
    """What events of both groups are judged by; one that says when it happened says who reports it, too."""
    is_new = bool(manifest.get("eventTime"))
    yield from _place(manifest, names.about, is_new=is_new)
    if not is_new:
        return
    who = manifest.get(names.reporter, "")
    if not who:
        yield required(names.reporter)
    yield from each_invalid(names.reporter, who, qualified_name(who))
    for name in ("reportingInstance", "action", "reason"):
        text = manifest.get(name, "")
        if not text:
            yield required(name)
        yield from _length(name, text, LONGEST_WORD)
    yield from _length(OLD.note, manifest.get(names.note, ""), LONGEST_NOTE)


def _length(field: str, text: str, most: int) -> Causes:
    if len(text.encode()) > most:
        yield invalid(field, "", f"can have at most {most} characters")


def _place(manifest: Json, about: str, *, is_new: bool) -> Causes:
    """An event is where its object is; that of an object that is nowhere, among those of the cluster."""
    own, whose = part(manifest, "metadata").get("namespace", ""), part(manifest, about).get("namespace", "")
    at_home = own in (DEFAULT, SYSTEM) if is_new else own == DEFAULT
    if not (at_home if not whose else is_new or own == whose):
        yield invalid("involvedObject.namespace", whose, "does not match event.namespace")


def _series(manifest: Json) -> Causes:
    series = manifest.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")


#: fields that stay as they are: how they are called here, where they are told, and as what if unset
FIXED: tuple[tuple[str, str, Any], ...] = (
    ("regarding", "involvedObject", {}),
    ("reason", "reason", ""),
    ("note", "message", ""),
    ("deprecatedSource", "source", {}),
    ("deprecatedFirstTimestamp", "firstTimestamp", None),
    ("deprecatedLastTimestamp", "lastTimestamp", None),
    ("deprecatedCount", "count", 0),
    ("reason", "reason", ""),  # the server looks at it twice
    ("type", "type", ""),
    ("eventTime", "eventTime", None),
    ("action", "action", ""),
    ("related", "related", None),
    ("reportingController", "reportingController", ""),
    ("reportingInstance", "reportingInstance", ""),
)
REFERENCE = {
    "Kind": "kind",
    "Namespace": "namespace",
    "Name": "name",
    "UID": "uid",
    "APIVersion": "apiVersion",
    "ResourceVersion": "resourceVersion",
    "FieldPath": "fieldPath",
}
SOURCE = {"Component": "component", "Host": "host"}


def event_update(new: Json, old: Json) -> Causes:
    """What may not be changed in an Event of events.k8s.io: all but its series."""
    meta, before = part(new, "metadata"), part(old, "metadata")
    yield from _common(new, NEW)
    yield from metadata_update(meta, before)
    yield from finalizers_are_qualified(meta.get("finalizers") or [])
    yield from _series(new)
    for name, told, unset in FIXED:
        value = _held(name, new.get(name) or unset)
        if value != _held(name, old.get(name) or unset):
            yield invalid(told, value, IMMUTABLE)


def _held(name: str, value: Any) -> Any:
    """A value of a field as the server holds it."""
    if not isinstance(value, Mapping):
        return value
    fields = SOURCE if name == "deprecatedSource" else REFERENCE
    return Shown((above, value.get(here, "")) for above, here in fields.items())
