"""Bodies of requests, read: JSON or YAML, checked against the address, unknown fields found. Pure."""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from trimtab.apiserver.gojson import BadJson, decoded
from trimtab.apiserver.refusing import bad_namespace, invalid, unsupported_media
from trimtab.apiserver.requests import Address
from trimtab.kube import protobuf
from trimtab.kube.gotext import quoted
from trimtab.kube.protobuf import BadProtobuf
from trimtab.kube.refusals import Cause, Refused, bad_request

Json = dict[str, Any]
JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
_HEAD = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
_TYPES = {list: "array", str: "string", bool: "bool", int: "number", float: "number"}


class Body(Struct, frozen=True):
    """A body as it came, or an object that never was one."""

    content: bytes | Mapping[str, Any] | list[Any]
    media: str = JSON


def media_type(header: str) -> str:
    """The media type in a Content-Type header."""
    return header.partition(";")[0].strip().lower()


def value_of(body: Body) -> Any:
    """What a JSON or YAML body holds."""
    if not isinstance(body.content, bytes):
        return body.content
    if body.media == YAML:
        return _from_yaml(body.content)
    if body.media == PROTOBUF:
        return _from_protobuf(body.content)
    return decoded(body.content)


def _from_protobuf(content: bytes) -> Any:
    try:
        return protobuf.decoded(content)
    except BadProtobuf as exc:
        raise BadJson(str(exc)) from exc


def _from_yaml(content: bytes) -> Any:
    from trimtab.errors import TrimtabError
    from trimtab.resources.yaml import documents

    try:
        found = documents(content, "body")
    except TrimtabError as exc:
        raise BadJson(f"error converting YAML to JSON: yaml: {exc.reason}") from exc
    return found[0].value if found else None


def manifest_in(body: Body, address: Address) -> Json:
    """The object in the body of a create or an update; its type is the one addressed."""
    served = address.served
    spoken = (JSON, YAML) if served.custom else (JSON, YAML, PROTOBUF)
    if body.media not in spoken:
        raise unsupported_media(*spoken)
    try:
        value = value_of(body)
    except BadJson as exc:
        told = str(exc) if body.media == PROTOBUF else f"couldn't get version/kind; json parse error: {exc}"
        raise _unrecognized(body, served.kind, told) from exc
    if not isinstance(value, dict):
        told = (
            f"json: cannot unmarshal {_TYPES[type(value)]} into Go value of type {_HEAD}"
            if value is not None
            else ""
        )
        if told:
            why = f"couldn't get version/kind; json parse error: {told}"
            raise _unrecognized(body, served.kind, why)
        value = {}
    return _of_the_kind(value, body, address)


def _unrecognized(body: Body, kind: str, why: str) -> Refused:
    shown = _shown(body.content if isinstance(body.content, bytes) else b"")
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {why} ({shown})")


def _shown(content: bytes) -> str:
    """The beginning of a body: as text if it looks like some, else in hexadecimal."""
    if not content:
        return "<empty>"
    if content[:1] == b"{":
        text = content.decode(errors="replace")
        return text if len(text) <= 256 else f"{text[:256]} ..."
    hexadecimal = binascii.hexlify(content[:128]).decode()
    return hexadecimal if len(content) <= 128 else f"{hexadecimal} ..."


def _of_the_kind(value: Json, body: Body, address: Address) -> Json:
    served = address.served
    kind, version = value.get("kind") or "", value.get("apiVersion") or ""
    if served.custom:
        _check_custom(value, body, address)
    elif (kind and kind != served.kind) or (version and version != served.api_version):
        raise _cannot_be_handled(kind or served.kind, version or served.api_version, served.kind)
    return {**value, "kind": served.kind, "apiVersion": served.api_version}


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
        name = (value.get("metadata") or {}).get("name", "")
        told = f"Invalid value: {quoted(kind)}: must be {served.kind}"
        cause = Cause(reason="FieldValueInvalid", message=told, field="kind")
        raise invalid(served.group, kind, name, [cause])


def _cannot_be_handled(kind: str, version: str, wanted: str) -> Refused:
    number = version.rpartition("/")[2]
    scheme = 'in scheme "pkg/runtime/scheme.go:111"'
    why = f"no kind {quoted(kind)} is registered for version {quoted(version)} {scheme}"
    return bad_request(f"{kind} in version {quoted(number)} cannot be handled as a {wanted}: {why}")


def placed(manifest: Json, address: Address, *, named: bool) -> Json:
    """The object in the namespace that is addressed, and, where one is, under the name that is."""
    metadata = manifest.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, dict) else {}
    if address.served.namespaced:
        if metadata.get("namespace") not in (None, "", address.namespace):
            raise bad_namespace()
        metadata["namespace"] = address.namespace
    elif metadata.get("namespace") == "":
        del metadata["namespace"]
    if named:
        _check_name(metadata, address)
    return {**manifest, "metadata": metadata}


def _check_name(metadata: Json, address: Address) -> None:
    name = metadata.get("name")
    if not name:
        told = f"the name of the object ({address.name} based on URL) was undeterminable"
        raise bad_request(f"{told}: name must be provided")
    if name != address.name:
        told = f"the name of the object ({name}) does not match the name on the URL ({address.name})"
        raise bad_request(told)


def deletion_in(body: bytes, media: str = JSON) -> Json | None:
    """The options in the body of a deletion, if it has one."""
    if not body:
        return None
    try:
        value = value_of(Body(body, media))
    except BadJson as exc:
        raise bad_request(f"couldn't get version/kind; json parse error: {exc}") from exc
    if not isinstance(value, dict):
        raise bad_request("couldn't get version/kind; json parse error: the body is no object")
    kind, version = value.get("kind") or "DeleteOptions", value.get("apiVersion") or "v1"
    if kind != "DeleteOptions":
        scheme = 'in scheme "pkg/runtime/scheme.go:111"'
        raise bad_request(f"no kind {quoted(kind)} is registered for version {quoted(version)} {scheme}")
    return value
