"""What is wrong with events: those of old, and those that say who reports them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.gotext import Shown
from trimtab.kube.schemas.validation.causes import Causes, each_invalid, invalid, part, required, too_long
from trimtab.kube.schemas.validation.metadata import IMMUTABLE
from trimtab.kube.schemas.validation.names import qualified_name

Json = Mapping[str, Any]
LONGEST_WORD, LONGEST_NOTE = 128, 1024
TYPES = ("Normal", "Warning")
DEFAULT = "default"
OLD, NEW = "reportingComponent", "reportingController"  # how each of them calls who reports


def old_event(manifest: Json) -> Causes:
    """What is wrong with an Event of the core group."""
    yield from _place(manifest, "involvedObject")
    if manifest.get("eventTime"):
        yield from _reported(manifest, OLD, "message")


def event(manifest: Json) -> Causes:
    """What is wrong with an Event of events.k8s.io."""
    yield from _place(manifest, "regarding")
    if not manifest.get("eventTime"):
        yield required("eventTime")
        return
    yield from _reported(manifest, NEW, "note")


def _place(manifest: Json, field: str) -> Causes:
    """An event is where its object is, or in the default namespace."""
    own, whose = part(manifest, "metadata").get("namespace", ""), part(manifest, field).get("namespace", "")
    if (whose and own != whose) or (not whose and own != DEFAULT):
        yield invalid("involvedObject.namespace", whose, "does not match event.namespace")


def _reported(manifest: Json, reporter: str, note: str) -> Causes:
    who = manifest.get(reporter, "")
    if not who:
        yield required(reporter)
    yield from each_invalid(reporter, who, qualified_name(who))
    for name in ("reportingInstance", "action", "reason"):
        text = manifest.get(name, "")
        if not text:
            yield required(name)
        if len(text) > LONGEST_WORD:
            yield too_long(name, LONGEST_WORD)
    kind = manifest.get("type", "")
    if reporter == NEW and kind not in TYPES:
        yield invalid("type", "", f"has invalid value: {kind}")
    if len(manifest.get(note, "")) > LONGEST_NOTE:
        yield too_long(note, LONGEST_NOTE)
    series = manifest.get("series")
    if series is not None:
        if series.get("count", 0) < 2:
            yield invalid("series.count", "", "should be at least 2")
        if not series.get("lastObservedTime"):
            yield required("series.lastObservedTime")


#: an event's fields that stay as they are: how they are called here, and where they are told
FIXED = (
    ("regarding", "involvedObject"),
    ("reason", "reason"),
    ("note", "message"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("reason", "reason"),  # the server looks at it twice
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingController", "reportingController"),
    ("reportingInstance", "reportingInstance"),
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


def event_update(new: Json, old: Json) -> Causes:
    """What may not be changed in an Event of events.k8s.io: all but its series."""
    for name, told in FIXED:
        value = new.get(name)
        if value != old.get(name):
            yield invalid(told, _held(value) if isinstance(value, dict) else value, IMMUTABLE)


def _held(reference: Json) -> Shown:
    return Shown((above, reference.get(here, "")) for above, here in REFERENCE.items())
