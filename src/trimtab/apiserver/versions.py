"""Objects in the version that is asked for, from the version in which they are kept, and back. Pure.

Custom resources change their `apiVersion` (conversion `None`) and lose what the other version does not
declare; what was kept under an earlier schema is read by the one of today. Of the built-in kinds only two are
served in more than one version: Events, which two groups show, and HorizontalPodAutoscalers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from trimtab.apiserver.catalog import Served
from trimtab.apiserver.store import Entry
from trimtab.kube import trees
from trimtab.kube.refusals import Refused
from trimtab.kube.schemas.autoscalers import v1_from_v2, v2_from_v1
from trimtab.kube.schemas.defaults import coerced, defaulted, filled, read_back
from trimtab.kube.schemas.kinds import built_in
from trimtab.kube.schemas.pruning import pruned
from trimtab.kube.schemas.schema import Schema
from trimtab.kube.schemas.validation.batch import OWN_LABELS

Json = dict[str, Any]

#: names of an Event's fields in the core group, and in the group events.k8s.io
EVENT_FIELDS = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}


def shown(entry: Entry, served: Served) -> bytes:
    """The JSON of an object in the version that is asked for."""
    if entry.api_version == served.api_version and not _is_dated(entry, served):
        head = f'{{"kind":"{served.kind}","apiVersion":"{served.api_version}",'
        return head.encode() + entry.body[1:]
    return trees.encoded(manifest_of(entry, served))


def shown_in_list(entry: Entry, served: Served) -> bytes:
    """The same as it stands in lists, where built-in kinds leave out what the list says already."""
    if served.custom:
        return shown(entry, served)
    if entry.api_version == served.api_version:
        return entry.body
    manifest = manifest_of(entry, served)
    return trees.encoded(
        {name: value for name, value in manifest.items() if name not in ("apiVersion", "kind")}
    )


def manifest_of(entry: Entry, served: Served) -> Json:
    """The object, decoded, in the version that is asked for."""
    if _is_dated(entry, served):
        kept = _read(_written(entry, served), served)
    else:
        kept = {"apiVersion": entry.api_version, "kind": served.kind, **entry.decoded()}
    return converted(kept, served.api_version, served)


class Kept(Struct, frozen=True):
    """An object in the version in which it is kept: as it will be read, and as it is written if otherwise."""

    manifest: Json
    written: Json | None = None


def to_store(manifest: Json, served: Served, *, new: bool = False) -> Kept:
    """The object as it is kept; a new one without what every reading brings."""
    kept = converted(manifest, served.stored_as, served)
    read = _read(kept, served) if served.custom else read_back(_completed(kept, served), served.schema)
    if new and not served.custom:
        kept = _without_readings(kept, served)
    return Kept(read) if trees.equal(read, kept) else Kept(read, kept)


def _without_readings(kept: Json, served: Served) -> Json:
    """A new claim without its phase, and a new Job without the labels that are those of its template."""
    kind, metadata = (served.group, served.kind), kept["metadata"]
    if kind == ("", "PersistentVolumeClaim"):
        return {**kept, "status": {}}
    if kind != ("batch", "Job") or metadata.get("labels", {}).keys() != OWN_LABELS.keys():
        return kept
    return {**kept, "metadata": {name: value for name, value in metadata.items() if name != "labels"}}


def _completed(kept: Json, served: Served) -> Json:
    """A built-in object with the defaults of the version in which it is kept: every reading brings them."""
    if not is_told_in_annotations(served):
        return kept
    group, _, version = served.stored_as.rpartition("/")
    schema = built_in().schema(group, version, served.kind)
    return kept if schema is None else defaulted(kept, schema)


def is_kept_as(entry: Entry, live: Json, served: Served) -> bool:
    """Whether an object is kept in the form in which it is read: if not, any write brings it into that."""
    if entry.written is None:
        return True
    now, before = converted(live, served.stored_as, served), _written(entry, served)
    return trees.equal(_without_version(now), _without_version(before))


def _without_version(manifest: Json) -> Json:
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "resourceVersion"}
    return {**manifest, "metadata": metadata}


def _written(entry: Entry, served: Served) -> Json:
    """An object as it was written."""
    if entry.written is None:
        return {"apiVersion": entry.api_version, "kind": served.kind, **entry.decoded()}
    manifest: Json = trees.decoded(entry.written)
    return {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": str(entry.revision)}}


def converted(manifest: Json, api_version: str, served: Served) -> Json:
    """The object in another version of its kind; a custom resource loses what that does not declare."""
    before = manifest["apiVersion"]
    if before == api_version:
        return manifest
    if served.custom:
        schema = _schema_of(api_version, served)
        return coerced(pruned({**manifest, "apiVersion": api_version}, schema).manifest, schema)
    convert = CONVERSIONS.get((before, api_version))
    changed = convert(manifest) if convert else manifest
    return {**changed, "apiVersion": api_version}


def in_version(manifest: Json, served: Served) -> Json:
    """The object in the version that is asked for."""
    return converted(manifest, served.api_version, served)


def as_kept(manifest: Json, served: Served) -> Json:
    """The object as it would be shown once it is kept."""
    return in_version(to_store(manifest, served).manifest, served)


def _is_dated(entry: Entry, served: Served) -> bool:
    """Whether an object was kept before today's schemas came into force."""
    return entry.revision <= served.since


def _read(manifest: Json, served: Served) -> Json:
    """A custom resource as it comes out of storage, by the schema of the version in which it is kept."""
    schema = _schema_of(manifest["apiVersion"], served)
    return filled(coerced(pruned(manifest, schema).manifest, schema), schema)


def _schema_of(api_version: str, served: Served) -> Schema:
    """The schema of a version; none is left where a definition gave up a version that objects are kept in."""
    schema = served.schemas.get(api_version)
    if schema is None:
        told = f"request to convert CR from an invalid group/version: {api_version}"
        raise Refused(500, "", told)
    return schema


def _events_from_core(event: Json) -> Json:
    renamed = {EVENT_FIELDS.get(name, name): value for name, value in event.items()}
    silent = {name for name in ("reportingController", "reportingInstance") if not renamed.get(name)}
    return {name: value for name, value in renamed.items() if name not in silent}


def _core_from_events(event: Json) -> Json:
    names = {new: old for old, new in EVENT_FIELDS.items()}
    unsaid = {"reportingComponent": "", "reportingInstance": ""}
    return {**unsaid, **{names.get(name, name): value for name, value in event.items()}}


CONVERSIONS: Mapping[tuple[str, str], Callable[[Json], Json]] = {
    ("v1", "events.k8s.io/v1"): _events_from_core,
    ("events.k8s.io/v1", "v1"): _core_from_events,
    ("autoscaling/v2", "autoscaling/v1"): v1_from_v2,
    ("autoscaling/v1", "autoscaling/v2"): v2_from_v1,
}


def is_told_in_annotations(served: Served) -> bool:
    """Whether a built-in kind is served in a version that has no fields for all that is kept of it."""
    return served.api_version != served.stored_as and served.stored_as in convertible_to(served)


def convertible_to(served: Served) -> tuple[str, ...]:
    """The other versions of a built-in kind in its own group."""
    if served.custom:
        return ()
    group = f"{served.group}/"
    return tuple(
        after for before, after in CONVERSIONS if before == served.api_version and after.startswith(group)
    )
