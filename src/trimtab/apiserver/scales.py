"""The `scale` part of workloads: how many replicas are wanted, and how many there are. Pure.

A Scale is a kind of its own, made of another object: what is written to it is a write to a Scale, with owners
of its own, and is then carried over to the object. Owners cross in both directions: whoever has the replicas
of the one has those of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from trimtab.apiserver.catalog import ScalePaths, Served, field
from trimtab.apiserver.refusing import conflict, invalid
from trimtab.apiserver.strategies import target_of
from trimtab.kube import gotext
from trimtab.kube.merging.apply import Target, check_type, inconvertible
from trimtab.kube.merging.fields import FieldSet, Path, path
from trimtab.kube.merging.managers import Entry, lines_of, owners_of
from trimtab.kube.merging.typed import same
from trimtab.kube.refusals import Cause, Refused, bad_request, internal_error
from trimtab.kube.selectors import label_selector

Json = dict[str, Any]
SPEC = ScalePaths(wanted=".spec.replicas", seen=".status.replicas", selector=".spec.selector")
REPLICAS = path("spec", "replicas")
UNSET = -(1 << 31)  # stands for replicas that a custom resource does not say
LARGEST = (1 << 31) - 1
NO_CONVERSION = "request to convert CR to an invalid group/version: autoscaling/v1"


@cache
def kind() -> Served:
    """The kind Scale, which is served nowhere by itself."""
    return Served(
        group="autoscaling",
        version="v1",
        kind="Scale",
        plural="scales",
        singular="scale",
        namespaced=True,
        verbs=(),
        collection=("autoscaling", "scales"),
        stored_as="autoscaling/v1",
    )


def target() -> Target:
    """What is written to through the part `scale`."""
    return target_of(kind(), "scale")


# -- from an object to its scale --------------------------------------------------------------------------


def scale_of(manifest: Mapping[str, Any], served: Served) -> Json:
    """The Scale of an object."""
    paths = served.scale or SPEC
    if served.custom:
        _check_readable(manifest, paths)
        if field(manifest, paths.wanted) is None:
            raise _without_replicas(paths.wanted)
    return _scale(manifest, served, field(manifest, paths.wanted))


def scale_to_change(live: Json, served: Served) -> Json:
    """The Scale of an object as a write finds it: with its owners, and a sign where nothing is wanted."""
    wanted = field(live, (served.scale or SPEC).wanted)
    scale = _scale(live, served, UNSET if wanted is None and served.custom else wanted)
    owners = _owners_of_part(live, served)
    return {**scale, "metadata": {**scale["metadata"], **({"managedFields": owners} if owners else {})}}


def _scale(manifest: Mapping[str, Any], served: Served, wanted: int | None) -> Json:
    paths = served.scale or SPEC
    status: Json = {"replicas": field(manifest, paths.seen) or 0}
    selector = _selector(field(manifest, paths.selector) if paths.selector else None)
    if selector:
        status["selector"] = selector
    metadata = manifest["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": wanted} if wanted else {},
        "status": status,
    }


def _check_readable(manifest: Mapping[str, Any], paths: ScalePaths) -> None:
    """Refuse to read a scale where something else stands than what it is made of."""
    wanted = {paths.wanted: int, paths.seen: int, **({paths.selector: str} if paths.selector else {})}
    for where, kind in wanted.items():
        if problem := _nested(manifest, where, kind)[1]:
            raise internal_error(problem)


def _without_replicas(where: str) -> Refused:
    told = f'the spec replicas field "{where}" does not exist'
    return Refused(
        500, "InternalError", f"Internal error occurred: {told}", details={"causes": [{"message": told}]}
    )


def _selector(selector: Any) -> str:
    """A selector as text; controllers of old write theirs as a plain map."""
    if isinstance(selector, str) or selector is None:
        return selector or ""
    plain = not {"matchLabels", "matchExpressions"} & selector.keys()
    return str(label_selector({"matchLabels": selector} if plain else selector))


# -- what is wrong with a custom resource -----------------------------------------------------------------


def causes(manifest: Mapping[str, Any], paths: ScalePaths, *, status_only: bool = False) -> Iterator[Cause]:
    """What is wrong with the fields of a custom resource that its scale is made of."""
    if not status_only:
        yield from _replica_causes(manifest, paths.wanted)
    yield from _replica_causes(manifest, paths.seen)
    if paths.selector:
        value, problem = _nested(manifest, paths.selector, str)
        if problem:
            yield _cause(paths.selector, gotext.quoted(value or ""), problem)


def _replica_causes(manifest: Mapping[str, Any], where: str) -> Iterator[Cause]:
    value, problem = _nested(manifest, where, int)
    number = value or 0
    if not problem and number < 0:
        problem = "should be a non-negative integer"
    elif not problem and number > LARGEST:
        problem = f"should be less than or equal to {LARGEST}"
    if problem:
        yield _cause(where, str(number), problem)


def _cause(where: str, shown: str, problem: str) -> Cause:
    return Cause(reason="FieldValueInvalid", message=f"Invalid value: {shown}: {problem}", field=where)


def _nested(manifest: Mapping[str, Any], where: str, wanted: type) -> tuple[Any, str]:
    """What stands at a path, or why the server cannot see it; nothing there is no problem."""
    value: Any = manifest
    names = where.removeprefix(".").split(".")
    for depth, name in enumerate(names, 1):
        if value is None:
            return None, ""
        if not isinstance(value, dict):
            return None, _unseen(names[:depth], value, "map[string]interface{}")
        if name not in value:
            return None, ""
        value = value[name]
    if type(value) is not wanted:
        return None, _unseen(names, value, {int: "int64", str: "string"}[wanted])
    return value, ""


def _unseen(names: list[str], value: Any, wanted: str) -> str:
    found = f"{gotext.plain(value)} is of the type {gotext.type_name(value)}, expected {wanted}"
    return f".{'.'.join(names)} accessor error: {found}"


# -- from a scale to the object ---------------------------------------------------------------------------


def scaled(live: Json, scale: Json, served: Served) -> Json:
    """The object with the replicas that a Scale asks for, and the owners that they have now."""
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    _check(replicas, scale, live, served)
    names = (served.scale or SPEC).wanted.strip(".").split(".")
    new = _set(live, names, replicas)
    owners = _owners_of_whole(live, scale, served)
    metadata = {name: value for name, value in live["metadata"].items() if name != "managedFields"}
    metadata["resourceVersion"] = scale["metadata"].get("resourceVersion") or ""
    return {**new, "metadata": {**metadata, **({"managedFields": owners} if owners else {})}}


def _check(replicas: int, scale: Json, live: Json, served: Served) -> None:
    name = live["metadata"]["name"]
    if served.custom:
        if replicas == UNSET:
            where = (served.scale or SPEC).wanted
            raise bad_request(f'the spec replicas field "{where}" cannot be empty')
        return
    if replicas < 0:
        told = f"Invalid value: {replicas}: must be greater than or equal to 0"
        cause = Cause(reason="FieldValueInvalid", message=told, field="spec.replicas")
        raise invalid("autoscaling", "Scale", name, [cause])
    uid, own = scale["metadata"].get("uid"), live["metadata"]["uid"]
    if uid and uid != own:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {own}"
        raise conflict(served.group, f"{served.plural}/scale", name, why)


def _set(value: Json, names: list[str], replicas: int) -> Json:
    first, *rest = names
    return {**value, first: _set(value.get(first) or {}, rest, replicas) if rest else replicas}


# -- owners -----------------------------------------------------------------------------------------------


def _path(served: Served) -> Path:
    return path(*(served.scale or SPEC).wanted.strip(".").split("."))


def _versions(served: Served) -> frozenset[str]:
    return frozenset(served.schemas) | {served.api_version}


def _owners_of_part(live: Json, served: Served) -> list[Json]:
    """Who has the replicas of an object, as owners of its Scale."""
    return lines_of(
        msgspec.structs.replace(entry, api_version="autoscaling/v1", fields=FieldSet.of(REPLICAS))
        for entry in owners_of(live["metadata"].get("managedFields")).values()
        if entry.api_version in _versions(served) and entry.fields.has(_path(served))
    )


def _owners_of_whole(live: Json, scale: Json, served: Served) -> list[Json]:
    """The owners of an object after a write to its Scale.

    Nobody is on record with a time who came to own the replicas through it. Updaters of the Scale are others
    than those of the object, since they write another version: their share moves to a line of its own.
    """
    theirs = owners_of(scale["metadata"].get("managedFields"))
    lines: list[Entry] = []
    for identity, entry in owners_of(live["metadata"].get("managedFields")).items():
        if entry.api_version not in _versions(served):
            continue
        if entry.fields.has(_path(served)) and identity not in theirs:
            rest = entry.owning(entry.fields - FieldSet.of(_path(served)))
            lines.extend([] if rest.fields.is_empty else [rest])
        else:
            theirs.pop(identity, None)
            lines.append(entry)
    lines.extend(_carried(entry, served) for entry in theirs.values() if entry.fields.has(REPLICAS))
    return lines_of(lines)


def _carried(entry: Entry, served: Served) -> Entry:
    return msgspec.structs.replace(
        entry, api_version=served.api_version, fields=FieldSet.of(_path(served)), time=""
    )


# -- refusing ---------------------------------------------------------------------------------------------


def check_applicable(scale: Json, config: Json) -> None:
    """Refuse to apply to the scale of a custom resource whose replicas nobody has: so it is on the server."""
    check_type(config, target())
    if not scale["metadata"].get("managedFields"):
        where = "failed to convert live object (/; autoscaling/v1, Kind=Scale) to proper version"
        raise internal_error(f"failed to create manager for existing fields: {where}: {NO_CONVERSION}")


def check_unchanged(before: Json, after: Json, config: Json) -> None:
    """Refuse to change the scale of a custom resource by an apply, which can only share it."""
    if any(not same(before.get(part), after.get(part)) for part in ("spec", "status")):
        raise inconvertible(config, NO_CONVERSION)


def unreadable() -> Refused:
    """What the server says of any body that is not the Scale of a custom resource."""
    return bad_request('no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"')
