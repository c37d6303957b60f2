"""Server-side apply, and who owns what after any other write.

    applied(live, config, ...)   the object that an apply makes of the live one, or a refusal
    updated(live, new, ...)      the object that a create, update or patch stores, with its owners
    settled(live, new)           the live object, if nothing but the times of owners has changed

Objects are as the API server holds them: defaults filled in, nothing kept that its kind cannot hold. What
`applied` returns must still go through the same (merging can leave a null where everything was taken out).
Pure: `now` is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from trimtab.kube import gotext
from trimtab.kube.merging.fields import EMPTY, FieldSet, path, shown
from trimtab.kube.merging.managers import (
    APPLY,
    UPDATE,
    BadManagedFields,
    Entry,
    Owners,
    are_lines,
    capped,
    is_reset,
    owners_of,
    written,
    written_time,
)
from trimtab.kube.merging.shapes import Shape
from trimtab.kube.merging.typed import (
    Comparison,
    Problem,
    compared,
    merged,
    problems,
    reconciled,
    same,
    set_of,
    with_named,
    without,
)
from trimtab.kube.refusals import ApplyConflict, Cause, Refused, bad_request, internal_error

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
LARGEST_ANNOTATIONS = 256 * 1024
BEFORE_FIRST_APPLY = "before-first-apply"
KUBECTL = "kubectl"
CONFLICT = "FieldManagerConflict"
UNOWNED = FieldSet.of(
    path("apiVersion"),
    path("kind"),
    path("metadata"),
    *(
        path("metadata", name)
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)


class Form(Struct, frozen=True):
    """Another version of a kind: its shape, and the way there and back."""

    shape: Shape
    there: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    back: Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Target(Struct, frozen=True, kw_only=True):
    """What is written to: a kind in one version, or a subresource of it."""

    shape: Shape
    api_version: str
    kind: str
    subresource: str = ""
    #: fields that this endpoint leaves alone: nobody comes to own them through it
    reset: FieldSet = EMPTY
    #: an object of the kind with nothing set, as the server holds it: the structs that are never absent
    blank: Mapping[str, Any] = {}
    #: the API versions that are known; owners in another one are forgotten. None: all are
    served: frozenset[str] | None = None
    #: the shapes of all versions of a custom resource; None where fields have the same names in all of them
    versions: Mapping[str, Shape] | None = None
    #: the other versions of a built-in kind in which fields have other names
    forms: Mapping[str, Form] = {}

    def shape_in(self, api_version: str) -> Shape:
        """The shape of the kind in one of its versions."""
        if form := self.forms.get(api_version):
            return form.shape
        return (self.versions or {}).get(api_version, self.shape)

    def seen_in(self, value: Mapping[str, Any], api_version: str) -> Mapping[str, Any]:
        """An object of this version as it is in another one."""
        form = self.forms.get(api_version)
        return form.there(value) if form else value

    def back_from(self, value: Mapping[str, Any], api_version: str) -> Mapping[str, Any]:
        """An object of another version as it is in this one."""
        form = self.forms.get(api_version)
        return form.back(value) if form else value


class _Conflicts(Exception):
    """Fields of others that would change, by owner."""

    def __init__(self, fields: Mapping[str, FieldSet]) -> None:
        super().__init__()
        self.fields = fields


class _Unconvertible(Exception):
    """An object that cannot be had in another version of its kind, of which somebody owns fields."""


# -- writing ------------------------------------------------------------------------------------------------


def updated(
    live: Mapping[str, Any], new: Mapping[str, Any], target: Target, *, manager: str, now: datetime
) -> dict[str, Any]:
    """The new object with its owners: whoever wrote owns what has changed, and nobody else does any more.

    A live object without a uid is none: use `created`.
    """
    bare, before = _bare(new), _bare(live)
    owners = _owners_to_start_with(live, new, target)
    exists = bool(_metadata(live).get("uid"))
    if not owners and exists:
        return bare  # owners are recorded from the beginning, or from the first apply on
    if any(_problems(each, target) for each in (before, bare)):
        return bare
    try:
        return _with_owners(bare, capped(_after_update(before, bare, owners, target, manager, now)))
    except _Unconvertible:
        return bare


def created(new: Mapping[str, Any], target: Target, *, manager: str, now: datetime) -> dict[str, Any]:
    """The new object with its owners, where there was none."""
    return updated(target.blank, new, target, manager=manager, now=now)


def settled(live: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The live object if the new one differs in nothing but the times of its owners; else the new one."""
    timeless = [_without_times(each) for each in (live, new)]
    return dict(live if same(*timeless) else new)


def _without_times(value: Mapping[str, Any]) -> dict[str, Any]:
    managed = _metadata(value).get("managedFields", [])
    lines = [{name: part for name, part in line.items() if name != "time"} for line in managed]
    return {**value, "metadata": {**_metadata(value), "managedFields": lines}}


def _owners_to_start_with(live: Mapping[str, Any], new: Mapping[str, Any], target: Target) -> Owners:
    """The owners that the request states, or else those of the live object."""
    stated = _metadata(new).get("managedFields")
    if not target.subresource:
        if is_reset(stated):
            return {}
        owners = _readable(stated)
        if owners:
            return owners
    return _readable(_metadata(live).get("managedFields"))


def _readable(managed: Any) -> Owners:
    try:
        return owners_of(managed)
    except BadManagedFields:
        return {}


def _after_update(
    live: Mapping[str, Any],
    new: Mapping[str, Any],
    owners: Owners,
    target: Target,
    manager: str,
    now: datetime,
) -> Owners:
    owners = _current(owners, live, target)
    entry = Entry(
        manager=manager,
        operation=UPDATE,
        api_version=target.api_version,
        subresource=target.subresource,
        time=written_time(now),
    )
    comparison = _compared(live, new, target, target.api_version)
    owners = _less(owners, _changes(live, new, owners, target, entry.identity))
    taken = comparison.changed - UNOWNED
    if taken.is_empty:
        return owners
    before = owners.get(entry.identity, entry)
    return {**owners, entry.identity: entry.owning(taken | before.fields)}


def _current(owners: Owners, live: Mapping[str, Any], target: Target) -> Owners:
    """The owners under today's schema, in API versions that are still known."""
    for entry in owners.values():
        _check_convertible(live, entry.api_version, target)
    return {
        identity: entry.owning(reconciled(entry.fields, target.shape_in(entry.api_version)))
        for identity, entry in owners.items()
        if target.versions is not None or target.served is None or entry.api_version in target.served
    }


def _check_convertible(value: Mapping[str, Any], api_version: str, target: Target, told: str = "") -> None:
    """Refuse what cannot be had in a version: a custom resource has the same fields there, or cannot be."""
    if target.versions is None or api_version == target.api_version:
        return
    shape = target.versions.get(api_version)
    if shape is None:
        raise _Unconvertible(f"{told}request to convert CR to an invalid group/version: {api_version}")
    if found := list(problems(value, shape)):
        raise _Unconvertible(f"{told}{_spoken(found)}")


def _compared(
    live: Mapping[str, Any], new: Mapping[str, Any], target: Target, api_version: str
) -> Comparison:
    before, after = (target.seen_in(each, api_version) for each in (live, new))
    return compared(before, after, target.shape_in(api_version)).outside(target.reset)


def _changes(
    live: Mapping[str, Any], new: Mapping[str, Any], owners: Owners, target: Target, me: str
) -> dict[str, Comparison]:
    """What has changed, in every version in which somebody owns fields."""
    found = {target.api_version: _compared(live, new, target, target.api_version)}
    for identity, entry in owners.items():
        if identity != me and entry.api_version not in found:
            _check_convertible(live, entry.api_version, target, "failed to convert old object: ")
            _check_convertible(new, entry.api_version, target, "failed to convert new object: ")
            found[entry.api_version] = _compared(live, new, target, entry.api_version)
    return found


def _less(owners: Owners, changes: Mapping[str, Comparison], *, sparing: str = "") -> Owners:
    """The owners after others' fields were changed or removed; `sparing` keeps what it has."""
    left = {
        identity: entry if identity == sparing else _reduced(entry, changes.get(entry.api_version))
        for identity, entry in owners.items()
    }
    return {identity: entry for identity, entry in left.items() if not entry.fields.is_empty}


def _reduced(entry: Entry, comparison: Comparison | None) -> Entry:
    if comparison is None:
        return entry
    return entry.owning(entry.fields - (comparison.changed | comparison.removed))


# -- applying -----------------------------------------------------------------------------------------------


def applied(
    live: Mapping[str, Any] | None,
    config: Mapping[str, Any],
    target: Target,
    *,
    manager: str,
    force: bool = False,
    now: datetime,
) -> dict[str, Any]:
    """The object after the manager has applied a configuration; `live` is None if there is no object yet."""
    check_type(config, target)
    old = dict(live) if live is not None else dict(target.blank)
    owners = _recorded(old)
    bare = _bare(old)
    if not owners and live is not None:
        _check_unowned(bare, target)
        owners = capped(_after_update(target.blank, bare, {}, target, BEFORE_FIRST_APPLY, now))
    _check_config(config, target)
    _check_live(bare, target)
    entry = _applier(manager, target)
    try:
        new, owners = _merged(bare, config, owners, target, entry=entry, force=force, now=now)
    except _Conflicts as exc:
        unexpected = _unexpected(exc.fields, bare, target, manager)
        if unexpected:
            raise _conflict(unexpected, owners) from None
        new, owners = _merged(bare, config, owners, target, entry=entry, force=True, now=now)
    except _Unconvertible as exc:
        raise internal_error(str(exc)) from None
    return _with_owners(_with_last_applied(new, config, manager), owners)


def _applier(manager: str, target: Target) -> Entry:
    return Entry(
        manager=manager, operation=APPLY, api_version=target.api_version, subresource=target.subresource
    )


def _merged(
    live: dict[str, Any],
    config: Mapping[str, Any],
    owners: Owners,
    target: Target,
    *,
    entry: Entry,
    force: bool,
    now: datetime,
) -> tuple[dict[str, Any], Owners]:
    """The merged object and its owners; raises if others own what would change."""
    me = entry.identity
    owners = _current(owners, live, target)
    last = owners.get(me)
    wanted = set_of(config, target.shape).outside(target.reset)
    owners[me] = entry.owning(wanted)
    new = merged(live, dict(config), target.shape)
    new = _pruned(new, owners, last, wanted, target)
    changes = _changes(live, new, owners, target, me)
    conflicts = _taken_from_others(owners, changes, me)
    if conflicts and not force:
        raise _Conflicts(conflicts)
    changed = not same(live, new)
    time = written_time(now) if changed else last.time if last else ""
    owners = _less(owners, changes, sparing=me)
    return (new if changed else live), _stripped(owners, me, time)


def _stripped(owners: Owners, me: str, time: str) -> Owners:
    """The owners, less what nobody owns of mine; the last write of mine was at this time."""
    if me not in owners:
        return owners
    mine = msgspec.structs.replace(owners[me], fields=owners[me].fields - UNOWNED, time=time)
    others = {identity: entry for identity, entry in owners.items() if identity != me}
    return others if mine.fields.is_empty else {**others, me: mine}


def _taken_from_others(owners: Owners, changes: Mapping[str, Comparison], me: str) -> dict[str, FieldSet]:
    shared = {
        identity: entry.fields & changes[entry.api_version].changed
        for identity, entry in owners.items()
        if identity != me
    }
    return {identity: fields for identity, fields in shared.items() if not fields.is_empty}


def _pruned(new: Any, owners: Owners, last: Entry | None, wanted: FieldSet, target: Target) -> Any:
    """The merged object less what was applied last time, is not now, and nobody else owns."""
    if last is None or last.fields.is_empty:
        return new
    versions = _owned_by_version(owners, last.api_version)
    same = {last.api_version, *versions} == {target.api_version}
    if same and (last.fields - wanted).is_empty:
        return new  # nothing is given up, and nothing is lost on the way through another version
    told = "failed to prune fields: "
    _check_convertible(
        new, last.api_version, target, f"{told}failed to convert merged object to last applied version: "
    )
    shape = target.shape_in(last.api_version)
    formerly, seen = with_named(last.fields, shape), target.seen_in(new, last.api_version)
    rest = target.back_from(without(seen, formerly, shape), last.api_version)
    # Structs vanish with their last field, so parents of what somebody owns are put back first ...
    for version, owned in versions.items():
        at = f"object at version {version}: "
        _check_convertible(
            new, version, target, f"{told}failed add back owned items: failed to convert merged {at}"
        )
        whole, less = (target.seen_in(each, version) for each in (new, rest))
        rest = target.back_from(_with_owned(whole, less, owned, target.shape_in(version)), version)
    # ... and then everything that was not ours to remove.
    everything, left = (
        with_named(set_of(each, shape), shape) for each in (seen, target.seen_in(rest, last.api_version))
    )
    return target.back_from(without(seen, (everything - left) & formerly, shape), last.api_version)


def _owned_by_version(owners: Owners, first: str) -> dict[str, FieldSet]:
    """What is owned by anybody, by API version; one of them comes first."""
    found: dict[str, FieldSet] = {}
    for entry in sorted(owners.values(), key=lambda entry: entry.api_version != first):
        found[entry.api_version] = found.get(entry.api_version, EMPTY) | entry.fields
    return found


def _with_owned(new: Any, rest: Any, owned: FieldSet, shape: Shape) -> Any:
    """The rest of an object with what of it is owned put back."""
    everything = with_named(set_of(new, shape), shape)
    kept = with_named(set_of(rest, shape), shape) | with_named(owned, shape)
    return without(new, everything - kept, shape)


# -- refusing -----------------------------------------------------------------------------------------------


def check_type(config: Mapping[str, Any], target: Target) -> None:
    """Refuse a configuration of something else than what it is applied to."""
    version, kind = config.get("apiVersion", ""), config.get("kind", "")
    if (version, kind) != (target.api_version, target.kind):
        raise bad_request(f"invalid object type: {spoken_type(version, kind)}")


def spoken_type(version: str, kind: str) -> str:
    """A kind as Go prints it."""
    group, _, number = version.rpartition("/")
    return f"{group}/{number}, Kind={kind}"


def _recorded(live: Mapping[str, Any]) -> Owners:
    try:
        return owners_of(_metadata(live).get("managedFields"))
    except BadManagedFields as exc:
        raise internal_error(f"failed to decode managed fields: {exc}") from exc


def _check_config(config: Mapping[str, Any], target: Target) -> None:
    if are_lines(_metadata(config).get("managedFields")):
        raise bad_request("metadata.managedFields must be nil")
    found = list(problems(config, target.shape))
    if found:
        raise _untypable("patch", config, found)


def _check_live(live: Mapping[str, Any], target: Target) -> None:
    found = _problems(live, target)
    if found:
        raise _untypable("live", live, found)


def _check_unowned(live: Mapping[str, Any], target: Target) -> None:
    """The same of an object of which nobody owns anything: that is found before what is applied is read."""
    found = _problems(live, target)
    if found:
        what = f"failed to convert new object ({_spoken_object(live)}) to smd typed: {_spoken(found)}"
        raise internal_error(f"failed to create manager for existing fields: {what}")


def _problems(value: Mapping[str, Any], target: Target) -> list[Problem]:
    return list(problems(value, target.shape, duplicates=True))


def _untypable(which: str, value: Mapping[str, Any], found: list[Problem]) -> Refused:
    what = _spoken_object(value)
    return internal_error(f"failed to create typed {which} object ({what}): {_spoken(found)}")


def inconvertible(config: Mapping[str, Any], why: str) -> Refused:
    """The refusal of a configuration that makes an object which the server cannot hold."""
    return internal_error(f"failed to convert new object ({_spoken_object(config)}) to proper version: {why}")


def _spoken_object(value: Mapping[str, Any]) -> str:
    metadata = {name: text for name, text in _metadata(value).items() if isinstance(text, str)}
    name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    return f"{name}; {spoken_type(value.get('apiVersion', ''), value.get('kind', ''))}"


def _spoken(found: list[Problem]) -> str:
    return str(found[0]) if len(found) == 1 else "\n  ".join(["errors:", *map(str, found)])


def _conflict(conflicts: Mapping[str, FieldSet], owners: Owners) -> ApplyConflict:
    pairs = [
        (owners[identity], each) for identity in sorted(conflicts) for each in conflicts[identity].paths()
    ]
    causes = [
        Cause(reason="FieldManagerConflict", message=f"conflict with {owner.spoken}", field=shown(each))
        for owner, each in pairs
    ]
    if len(causes) == 1:
        told = f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
        return ApplyConflict(told, causes)
    lines: list[str] = []
    for identity in sorted(conflicts):
        lines.append(f"conflicts with {owners[identity].spoken}:")
        lines.extend(f"- {shown(each)}" for each in conflicts[identity].paths())
    return ApplyConflict(f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines), causes)


# -- coming from client-side apply --------------------------------------------------------------------------


def _unexpected(
    conflicts: Mapping[str, FieldSet], live: Mapping[str, Any], target: Target, manager: str
) -> dict[str, FieldSet]:
    """The conflicts, less what kubectl itself wrote in its client-side days."""
    allowed = _last_applied_fields(live, target) if manager == KUBECTL else EMPTY
    left = {identity: fields - allowed for identity, fields in conflicts.items()}
    return {identity: fields for identity, fields in left.items() if not fields.is_empty}


def _last_applied_fields(live: Mapping[str, Any], target: Target) -> FieldSet:
    """The fields that client-side apply wrote last and that are still so; none if that cannot be told."""
    text = _annotations(live).get(LAST_APPLIED)
    try:
        config = msgspec.json.decode(text) if text else None
    except msgspec.DecodeError:
        return EMPTY
    if not isinstance(config, dict) or config.get("apiVersion") != target.api_version:
        return EMPTY
    if any(problem for each in (config, live) for problem in problems(each, target.shape)):
        return EMPTY
    comparison = compared(config, live, target.shape)
    return set_of(config, target.shape) - comparison.changed - comparison.removed


def _with_last_applied(new: dict[str, Any], config: Mapping[str, Any], manager: str) -> dict[str, Any]:
    """The object with kubectl's annotation brought up to date, if it carries one."""
    annotations = _annotations(new)
    if manager != KUBECTL or not annotations.get(LAST_APPLIED):
        return new
    annotations = {**annotations, LAST_APPLIED: gotext.to_json(_without_annotation(config)) + "\n"}
    if (
        sum(len(name.encode()) + len(text.encode()) for name, text in annotations.items())
        > LARGEST_ANNOTATIONS
    ):
        del annotations[LAST_APPLIED]
    return {**new, "metadata": {**new["metadata"], "annotations": annotations}}


def _without_annotation(config: Mapping[str, Any]) -> dict[str, Any]:
    if LAST_APPLIED not in _annotations(config):
        return dict(config)
    left = {name: text for name, text in _annotations(config).items() if name != LAST_APPLIED}
    return {**config, "metadata": {**config["metadata"], "annotations": left}}


def _annotations(value: Mapping[str, Any]) -> dict[str, Any]:
    annotations = _metadata(value).get("annotations")
    return annotations if isinstance(annotations, dict) else {}


# -- metadata -----------------------------------------------------------------------------------------------


def _metadata(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata, if there is any worth the name."""
    metadata = value.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _bare(value: Mapping[str, Any]) -> dict[str, Any]:
    """The object without its owners."""
    if "managedFields" not in _metadata(value):
        return dict(value)
    metadata = {name: part for name, part in _metadata(value).items() if name != "managedFields"}
    return {**value, "metadata": metadata}


def _with_owners(value: dict[str, Any], owners: Owners) -> dict[str, Any]:
    """The object with these owners recorded."""
    if not owners:
        return value
    return {**value, "metadata": {**_metadata(value), "managedFields": written(owners)}}
