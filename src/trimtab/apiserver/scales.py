"""The `scale` part of workloads: how many replicas are wanted, and how many there are. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trimtab.apiserver.catalog import ScalePaths, Served, field
from trimtab.apiserver.refusing import invalid
from trimtab.kube.gotext import plain, quoted, type_name
from trimtab.kube.refusals import Cause, Refused, internal_error
from trimtab.kube.selectors import label_selector

Json = dict[str, Any]
LARGEST = 2**31 - 1
SPEC = ScalePaths(wanted=".spec.replicas", seen=".status.replicas", selector=".spec.selector")


def causes(manifest: Mapping[str, Any], paths: ScalePaths) -> Iterator[Cause]:
    """What is wrong with the fields of a custom resource that its scale is made of."""
    yield from _replica_causes(manifest, paths.wanted)
    yield from _replica_causes(manifest, paths.seen)
    if paths.selector:
        value, problem = _nested(manifest, paths.selector, str)
        if problem:
            yield _cause(paths.selector, quoted(value or ""), problem)


def _replica_causes(manifest: Mapping[str, Any], path: str) -> Iterator[Cause]:
    value, problem = _nested(manifest, path, int)
    number = value or 0
    if not problem and number < 0:
        problem = "should be a non-negative integer"
    elif not problem and number > LARGEST:
        problem = f"should be less than or equal to {LARGEST}"
    if problem:
        yield _cause(path, str(number), problem)


def _cause(path: str, shown: str, problem: str) -> Cause:
    return Cause(reason="FieldValueInvalid", message=f"Invalid value: {shown}: {problem}", field=path)


def _nested(manifest: Mapping[str, Any], path: str, wanted: type) -> tuple[Any, str]:
    """What stands at a path, or why the server cannot see it; nothing there is no problem."""
    value: Any = manifest
    names = path.removeprefix(".").split(".")
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
    found = f"{plain(value)} is of the type {type_name(value)}, expected {wanted}"
    return f".{'.'.join(names)} accessor error: {found}"


def scale_of(manifest: Mapping[str, Any], served: Served) -> Json:
    """The Scale of an object."""
    paths = served.scale or SPEC
    wanted = field(manifest, paths.wanted)
    if wanted is None and served.custom:
        raise _without_replicas(paths.wanted)
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


def _without_replicas(path: str) -> Refused:
    told = f'the spec replicas field "{path}" does not exist'
    return Refused(
        500, "InternalError", f"Internal error occurred: {told}", details={"causes": [{"message": told}]}
    )


def _selector(selector: Any) -> str:
    """A selector as text; controllers of old write theirs as a plain map."""
    if isinstance(selector, str) or selector is None:
        return selector or ""
    plain = not {"matchLabels", "matchExpressions"} & selector.keys()
    return str(label_selector({"matchLabels": selector} if plain else selector))


def scaled(manifest: Json, replicas: int, served: Served) -> Json:
    """The object with this many replicas wanted."""
    names = (served.scale or SPEC).wanted.strip(".").split(".")
    return _set(manifest, names, replicas)


def _set(value: Json, names: list[str], replicas: int) -> Json:
    first, *rest = names
    return {**value, first: _set(value.get(first) or {}, rest, replicas) if rest else replicas}


def config_of(config: Mapping[str, Any], served: Served) -> Json:
    """What an applied Scale asks of the object itself."""
    metadata = config.get("metadata") or {}
    head: Json = {
        "apiVersion": served.api_version,
        "kind": served.kind,
        "metadata": {"name": metadata.get("name", "")},
    }
    replicas = (config.get("spec") or {}).get("replicas")
    return head if replicas is None else scaled(head, replicas, served)


def is_owned(manifest: Json, served: Served) -> bool:
    """Whether anybody is on record for the wanted replicas; only then are others recorded."""
    names = (served.scale or SPEC).wanted.strip(".").split(".")
    for line in manifest["metadata"].get("managedFields") or ():
        node: Any = line.get("fieldsV1")
        for name in names:
            node = node.get(f"f:{name}") if isinstance(node, dict) else None
        if node is not None:
            return True
    return False


def untimed(manifest: Json) -> Json:
    """The object with the owners of its scale as the server records them: without a time."""
    metadata = manifest["metadata"]
    lines = [
        {name: value for name, value in line.items() if name != "time" or line.get("subresource") != "scale"}
        for line in metadata.get("managedFields") or ()
    ]
    first = sorted(lines, key=lambda line: (line["operation"], line.get("time", "")))
    return {**manifest, "metadata": {**metadata, **({"managedFields": first} if lines else {})}}


def negative(name: str, replicas: int) -> Refused:
    """Fewer replicas than none are refused."""
    told = f"Invalid value: {replicas}: must be greater than or equal to 0"
    cause = Cause(reason="FieldValueInvalid", message=told, field="spec.replicas")
    return invalid("autoscaling", "Scale", name, [cause])


def not_applicable() -> Refused:
    """The scale of a custom resource cannot be applied: so it is on the API server."""
    where = "failed to convert live object (/; autoscaling/v1, Kind=Scale) to proper version"
    why = "request to convert CR to an invalid group/version: autoscaling/v1"
    return internal_error(f"failed to create manager for existing fields: {where}: {why}")
