"""Bodies of requests, read: JSON or YAML, checked against the address, unknown fields found. Pure."""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from trimtab.apiserver.catalog import Served
from trimtab.apiserver.depths import too_heavy
from trimtab.apiserver.refusing import bad_namespace, invalid, unsupported_media
from trimtab.apiserver.repeated import Pairs, merged
from trimtab.apiserver.requests import Address
from trimtab.errors import TrimtabError
from trimtab.kube.gojson import BadJson, BadNumber, decoded
from trimtab.kube.gotext import quoted
from trimtab.kube.merging.apply import inconvertible, spoken_type
from trimtab.kube.merging.patch import not_a_map
from trimtab.kube.refusals import Cause, Refused, bad_request
from trimtab.kube.schemas.decoding import unconvertible, unreadable
from trimtab.kube.schemas.inner import is_readable
from trimtab.kube.schemas.kinds import built_in
from trimtab.kube.schemas.pruning import duplicate_field, pruned, strict_refusal
from trimtab.kube.schemas.schema import OBJECT_META, Schema
from trimtab.kube.schemas.validation.causes import invalid as wrong_value
from trimtab.kube.trees import DEEPEST, depth_of, has_room, read

if TYPE_CHECKING:
    from trimtab.resources.yaml import Excessive, Forgiven

Json = dict[str, Any]
NO_KIND = "couldn't get version/kind; json parse error: "
STEPS = 200_000_000  # a value nested 10,000 levels takes 150,000,000
FROM_YAML = "error converting YAML to JSON: "
INTO_JSON = "error unmarshaling JSON: while decoding JSON: "
JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
HEAD = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
DELETE_OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
SHOWN = 30  # bytes of a body that refusals show
_TYPES = {list: "array", str: "string", bool: "bool", int: "number", float: "number"}


class Body(Struct, frozen=True):
    """A body as it came, or an object that never was one."""

    content: bytes | Mapping[str, Any] | list[Any]
    media: str = JSON


def value_of(body: Body) -> Any:
    """What a JSON or YAML body holds."""
    if not isinstance(body.content, bytes):
        return body.content
    if body.media == YAML:
        return _from_yaml(body.content)
    if body.media == PROTOBUF:
        return _from_protobuf(body.content)
    return decoded(body.content)


def _from_yaml(content: bytes) -> Any:
    return _forgiven(content).value


def _forgiven(content: bytes) -> Forgiven:
    from trimtab.resources.yaml import TOO_HEAVY, Excessive, Limits, forgiven

    try:
        return forgiven(content, "body", Limits(depth=DEEPEST, steps=STEPS))
    except Excessive as exc:
        if exc.reason == TOO_HEAVY:
            raise too_heavy() from exc
        raise BadJson(_beyond(content, exc)) from exc
    except TrimtabError as exc:
        raise BadJson(f"{FROM_YAML}yaml: {_yaml_words(exc)}") from exc


def _beyond(content: bytes, exc: Excessive) -> str:
    """What is said of YAML that is too deep: its reader counts brackets, and indents, each for themselves.

    One level that is neither is the whole; if it is too many, whoever reads the JSON made of it says so.
    """
    from trimtab.resources.yaml import Excessive, Limits, forgiven

    line, column, *_ = (*map(int, re.findall(r"[0-9]+", exc.subject)), 1, 1)
    try:
        if content.lstrip()[:1] not in (b"{", b"["):
            forgiven(content, "body", Limits(depth=DEEPEST + 1))
            sign = content.splitlines()[line - 1][column - 1 : column]
            return f"{INTO_JSON}invalid character '{'[' if sign in b'[-' else '{'}' exceeded max depth"
    except Excessive:
        pass
    return f"{FROM_YAML}yaml: {f'line {line}: ' if line > 1 else ''}exceeded max depth of {DEEPEST}"


def _from_protobuf(content: bytes) -> Any:
    from trimtab.apiserver.protobuf import BadProtobuf, manifest_from

    try:
        return manifest_from(content)
    except BadProtobuf as exc:
        raise BadJson(str(exc)) from exc


def _yaml_words(exc: TrimtabError) -> str:
    """What is wrong with YAML, and in which line, as Go's reader says it."""
    line = re.search(r"line ([0-9]+)", exc.subject)
    words = exc.reason.rpartition(", ")[2]
    number = int(line[1]) if line else 0
    if words.startswith("did not find expected"):
        number -= 1  # Go counts these lines from zero
    return f"line {number}: {words}" if number > 0 else words


def manifest_in(body: Body, address: Address) -> Json:
    """The object in the body of a create or an update; its type is the one addressed."""
    served = address.served
    if body.media not in (JSON, YAML, PROTOBUF) or (body.media == PROTOBUF and served.custom):
        raise unsupported_media(JSON, YAML, *(() if served.custom else (PROTOBUF,)))
    try:
        value = value_of(body)
    except BadNumber as exc:
        who = f"{served.kind} in version {quoted(served.version)} cannot be handled as a {served.kind}"
        raise bad_request(f"{who}: {exc}") from exc
    except BadJson as exc:
        if body.media == JSON:
            raise _unrecognized(body, served.kind, f"{NO_KIND}{exc}") from exc
        told = str(exc).removeprefix(FROM_YAML).replace(INTO_JSON, NO_KIND)
        raise _unrecognized(body, served.kind, told) from exc
    if not isinstance(value, dict):
        if value is not None:
            told = f"json: cannot unmarshal {json_word(value)} into Go value of type {HEAD}"
            raise _unrecognized(body, served.kind, f"{NO_KIND}{told}")
        value = {}
    if told := bad_head(value):
        raise _unrecognized(body, served.kind, f"{NO_KIND}{told}")
    if not served.custom and twice_given(body):
        value = merged(_written(body), served.schema)
    return _of_the_kind(value, body, address)


class Declared(Struct, frozen=True):
    """What somebody applies, and the keys that stand twice in it, in the server's words."""

    config: Json
    twins: tuple[str, ...] = ()


def declaration_in(body: Body) -> Declared:
    """The configuration in the body of an apply."""
    try:
        read = _forgiven(body.content) if isinstance(body.content, bytes) else None
    except BadJson as exc:
        raise bad_request(f"error decoding YAML: {exc}") from exc
    config = read.value if read else body.content
    if not isinstance(config, dict | None):
        told = not_a_map(config)
        raise bad_request(f"error decoding YAML: {INTO_JSON}{told}")
    config = config or {}
    if told := bad_head(config):
        raise bad_request(f"couldn't get version/kind; json parse error: {told}")
    headed = {**config, **{name: config.get(name) or "" for name in ("apiVersion", "kind")}}
    twins = read.twins if read else ()
    return Declared(
        headed, tuple(f"line {twin.line}: key {quoted(twin.key)} already set in map" for twin in twins)
    )


def check_twins(declared: Declared, validation: str) -> tuple[str, ...]:
    """What to warn of in a configuration; refused if it was to be read strictly."""
    if not declared.twins or validation == "Ignore":
        return ()
    if validation == "Strict":
        lines = "".join(f"\n  {each}" for each in declared.twins)
        told = f"error converting YAML to JSON: yaml: unmarshal errors:{lines}"
        raise bad_request(f"error strict decoding YAML: {told}")
    return declared.twins


def bad_head(value: Json) -> str:
    """What is wrong with the `kind` and `apiVersion` of an object, if anything."""
    for name in ("apiVersion", "kind"):
        if not isinstance(value.get(name), str | None):
            return (
                f"json: cannot unmarshal {json_word(value[name])} into Go struct field .{name} of type string"
            )
    return ""


def json_word(value: Any) -> str:
    """What Go calls a JSON value."""
    return _TYPES.get(type(value), "object")


def _unrecognized(body: Body, kind: str, why: str) -> Refused:
    shown = _shown(body.content if isinstance(body.content, bytes) else b"")
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {why} ({shown})")


def _shown(content: bytes) -> str:
    """The beginning of a body: as text if it looks like some, else in hexadecimal."""
    if not content:
        return "<empty>"
    start = content[:SHOWN]
    text = start.decode(errors="replace") if content[:1] == b"{" else binascii.hexlify(start).decode()
    return text if len(content) <= SHOWN else f"{text} ..."


def _of_the_kind(value: Json, body: Body, address: Address) -> Json:
    served = address.served
    kind, version = value.get("kind") or "", value.get("apiVersion") or ""
    if served.custom:
        _check_custom(value, body, address)
    elif (kind and kind != served.kind) or (version and version != served.api_version):
        raise _another_kind(value, kind or served.kind, version or served.api_version, served)
    return {**value, "kind": served.kind, "apiVersion": served.api_version}


def _another_kind(value: Json, kind: str, version: str, served: Served) -> Refused:
    """The refusal of an object that is not of the kind that is addressed."""
    group, _, number = version.rpartition("/")
    model = built_in().models.get((group, number, kind))
    known = model or is_readable(version, kind)
    if known and (group, kind) == (served.group, served.kind):
        told = f"the API version in the data ({version}) does not match the expected API version"
        return bad_request(f"{told} ({served.api_version})")
    why = not_of_the_kind(value, kind, version, served)
    return bad_request(f"{kind} in version {quoted(number)} cannot be handled as a {served.kind}: {why}")


def not_of_the_kind(value: Json, kind: str, version: str, served: Served) -> str:
    """Why an object of another kind cannot be taken for one of this kind."""
    group, _, number = version.rpartition("/")
    model = built_in().models.get((group, number, kind))
    return no_such_kind(kind, version) if model is None else _unlike(value, model, kind, number, served)


def _unlike(value: Json, model: str, kind: str, number: str, served: Served) -> str:
    problem = unreadable({**value, "kind": kind}, built_in().type(model))
    return (
        problem.partition(": ")[2]
        if problem
        else f"converting ({number}.{kind}) to ({_inside(served)}.{served.kind}): unknown conversion"
    )


def go_type(served: Served, *, listed: bool = False) -> str:
    """What a real server's own code calls a kind, or its list."""
    if served.custom:
        return "*unstructured.UnstructuredList" if listed else "*unstructured.Unstructured"
    return f"*{_inside(served)}.{served.list_kind if listed else served.kind}"


def _inside(served: Served) -> str:
    """The package in which a real server keeps the kinds of a group; two groups show the same events."""
    return "core" if served.group in ("", "events.k8s.io") else served.group.partition(".")[0]


def _check_custom(value: Json, body: Body, address: Address) -> None:
    served = address.served
    kind, version = value.get("kind") or "", value.get("apiVersion") or ""
    if not kind:
        text = body.content.decode(errors="replace") if isinstance(body.content, bytes) else ""
        told = f"the object provided is unrecognized (must be of type {served.kind}): "
        raise bad_request(f"{told}Object 'Kind' is missing in '{text}' ({_shown(text.encode())})")
    if version != served.api_version:
        told = f"the API version in the data ({version}) does not match the expected API version"
        raise bad_request(f"{told} ({served.api_version})")
    if kind != served.kind:
        metadata = value.get("metadata")
        name = str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
        told = f"Invalid value: {quoted(kind)}: must be {served.kind}"
        cause = Cause(reason="FieldValueInvalid", message=told, field="kind")
        raise invalid(served.group, kind, name, [cause])


def no_such_kind(kind: str, version: str) -> str:
    """What the server says of a kind that it does not know in a version."""
    scheme = 'in scheme "pkg/runtime/scheme.go:111"'
    return f"no kind {quoted(kind)} is registered for version {quoted(version)} {scheme}"


def placed(manifest: Json, address: Address, *, named: bool) -> Json:
    """The object in the namespace that is addressed, and, where one is, under the name that is."""
    metadata = manifest.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, dict) else {}
    if address.served.namespaced:
        if metadata.get("namespace") not in (None, "", address.namespace):
            raise bad_namespace()
        metadata["namespace"] = address.namespace
    else:
        metadata.pop("namespace", None)
    if named:
        _check_name(metadata, address)
    return {**manifest, "metadata": metadata}


def each_owner_once(manifest: Json, *, late: bool = False) -> Known:
    """The object with each of its owners named once, and the warning where one was named again.

    Patches are looked at `late`, when admission has had its say, and are warned in other words.
    """
    metadata = manifest["metadata"]
    given = metadata.get("ownerReferences") or []
    once: list[Json] = []
    again: list[Json] = []
    for each in given:
        (again if each in once else once).append(each)
    if not again:
        return Known(manifest)
    when = " after mutating admission happens" if late else ""
    told = (
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in "
        "1.20+, and may reject such requests as early as 1.24; please fix your requests; "
        f"duplicate UID(s) observed: {', '.join(str(each.get('uid', '')) for each in again)}"
    )
    return Known({**manifest, "metadata": {**metadata, "ownerReferences": once}}, (told,))


def _check_name(metadata: Json, address: Address) -> None:
    name = metadata.get("name")
    if not name:
        told = f"the name of the object ({address.name} based on URL) was undeterminable"
        raise bad_request(f"{told}: name must be provided")
    if name != address.name:
        told = f"the name of the object ({name}) does not match the name on the URL ({address.name})"
        raise bad_request(told)


# -- what a kind does not have ----------------------------------------------------------------------------


class Known(Struct, frozen=True):
    """An object with the fields its kind has, and what to warn of."""

    manifest: Json
    warnings: tuple[str, ...] = ()


def known(manifest: Json, served: Served, validation: str, twice: Sequence[str] = ()) -> Known:
    """The object as the server can read it; refused if it cannot, or if it was to be read strictly."""
    if problem := unreadable_as(manifest, served):
        raise bad_request(problem)
    kept = pruned(manifest, served.schema)
    problems = () if validation == "Ignore" else (*map(duplicate_field, twice), *kept.warnings)
    if problems and validation == "Strict":
        raise bad_request(strict_refusal(served.kind, served.version, problems))
    return Known(kept.manifest, problems)


def converted(new: Json, config: Json, served: Served) -> Json:
    """What an apply of a configuration has made, with the fields that its kind has."""
    if problem := unconvertible(new, served.schema):
        kind = spoken_type(served.api_version, served.kind)
        raise inconvertible(config, f"unable to convert unstructured object to {kind}: {problem}")
    return pruned(new, served.schema).manifest


def unreadable_as(manifest: Json, served: Served) -> str | None:
    """Why an object cannot be read as one of its kind, if so."""
    if not served.custom:
        return unreadable(manifest, served.schema)
    metadata = manifest.get("metadata", {})
    metadata = {} if metadata is None else metadata
    if not isinstance(metadata, dict):
        who = f'{served.kind} in version "{served.version}" cannot be handled as a {served.kind}'
        return f"{who}: json: cannot unmarshal {json_word(metadata)} into Go value of type v1.ObjectMeta"
    named = {**metadata, "kind": served.kind, "apiVersion": served.api_version}
    if problem := unreadable(named, built_in().type(OBJECT_META)):
        return problem
    inside = next(_unreadable_inside(manifest, served.schema, ""), None)
    who = f'{served.kind} in version "{served.version}" cannot be handled as a {served.kind}'
    return f"{who}: {inside}" if inside else None


def _unreadable_inside(value: Any, schema: Schema | None, path: str) -> Iterator[str]:
    """Metadata of objects within the object that cannot be read as such."""
    if schema is None:
        return
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from _unreadable_inside(each, schema.element, f"{path}[{number}]")
    elif isinstance(value, dict):
        if schema.embedded and (why := _unreadable_metadata(value.get("metadata"))):
            yield str(wrong_value(f"{path}.metadata", value["metadata"], why))
        for name, each in value.items():
            yield from _unreadable_inside(each, schema.child(name), f"{path}.{name}" if path else name)


def _unreadable_metadata(metadata: Any) -> str:
    if not isinstance(metadata, dict | None):
        return f"json: cannot unmarshal {json_word(metadata)} into Go value of type v1.ObjectMeta"
    told = unreadable(metadata, built_in().type(OBJECT_META)) if metadata else None
    return told.partition(": ")[2] if told else ""


def twice_given(body: Body) -> tuple[str, ...]:
    """The fields that stand twice in a JSON body."""
    if not isinstance(body.content, bytes) or body.media in (YAML, PROTOBUF):
        return ()
    found: list[str] = []
    _look_twice(_written(body), "", found)
    return tuple(dict.fromkeys(found))


def _written(body: Body) -> Any:
    """A JSON body with its fields as they were written; None if it cannot be read."""
    if not isinstance(body.content, bytes):
        return None
    try:
        return json.loads(body.content, object_pairs_hook=Pairs)
    except RecursionError:
        if has_room():
            return read(body.content, Pairs)
        if depth_of(body.content) <= DEEPEST:
            raise
        return None
    except ValueError:
        return None


def _look_twice(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, Pairs):
        seen = set()
        for name, each in value:
            place = f"{path}.{name}" if path else name
            if name in seen:
                found.append(place)
            seen.add(name)
            _look_twice(each, place, found)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            _look_twice(each, f"{path}[{number}]", found)


def deletion_in(body: bytes, media: str = JSON) -> Json | None:
    """The options in the body of a deletion, if it has one."""
    if not body:
        return None
    if media not in (JSON, YAML, PROTOBUF):
        raise unsupported_media(JSON, YAML, PROTOBUF)
    try:
        value = value_of(Body(body, media))
    except BadJson as exc:
        raise bad_request(f"{'' if media == PROTOBUF else NO_KIND}{exc}") from exc
    if value is None:
        return None
    if not isinstance(value, dict):
        told = f"json: cannot unmarshal {json_word(value)} into Go value of type {HEAD}"
        raise bad_request(f"{NO_KIND}{told}")
    if told := bad_head(value):
        raise bad_request(f"{NO_KIND}{told}")
    kind, version = value.get("kind") or "DeleteOptions", value.get("apiVersion") or "v1"
    if kind != "DeleteOptions":
        raise bad_request(no_such_kind(kind, version))
    if problem := unreadable(value, built_in().type(DELETE_OPTIONS)):
        raise bad_request(problem.partition(": ")[2])
    return {name: each for name, each in value.items() if each is not None}
