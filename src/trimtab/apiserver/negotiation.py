"""Which form of an answer a client asks for, and answers in that form. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from trimtab.kube.refusals import Refused

JSON, YAML = "application/json", "application/yaml"
OPENAPI_V2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
PARTIAL = "PartialObjectMetadata"
_AVAILABLE = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
_STREAMS = ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
_STATUS = b'{"kind":"Status",'


class Form(Struct, frozen=True):
    """How an answer is written: as what media type, and whether of metadata alone."""

    media: str = JSON
    partial: bool = False


class Wanted(Struct, frozen=True):
    """One of the media types that a client accepts."""

    media: str
    parameters: dict[str, str]


def wanted(accept: str) -> Iterator[Wanted]:
    """What an Accept header asks for, in its order."""
    for part in accept.split(","):
        media, *parameters = (word.strip() for word in part.split(";"))
        named = (word.partition("=") for word in parameters)
        yield Wanted(media, {name.strip(): value.strip() for name, _, value in named})


def _preference(each: Wanted) -> float:
    """How much a client likes a media type; what is no number counts for nothing said."""
    try:
        return float(each.parameters.get("q", 1))
    except ValueError:
        return 1.0


def form_of(accept: str, *, streams: bool = False) -> Form:
    """The form to answer in; Tables are not made here, so clients that accept them get the objects.

    `streams` says that the address can be watched, which a refusal mentions.
    """
    refused = False
    for each in sorted(wanted(accept or JSON), key=_preference, reverse=True):
        media = JSON if each.media == "*/*" else each.media
        if media not in (JSON, YAML):
            continue
        shape = each.parameters.get("as", "")
        if shape in (PARTIAL, f"{PARTIAL}List") and _is_known(each.parameters):
            return Form(media, partial=True)
        if not shape or shape == "Table":
            if shape and _has_plain(accept):
                continue
            return Form(media)
        refused = True
    raise _not_acceptable(transformed=refused, streams=streams)


def _is_known(parameters: Mapping[str, str]) -> bool:
    return parameters.get("g") == "meta.k8s.io" and parameters.get("v") in ("v1", "v1beta1")


def _has_plain(accept: str) -> bool:
    return any("as" not in each.parameters for each in wanted(accept))


def _not_acceptable(*, transformed: bool, streams: bool) -> Refused:
    if transformed:
        return Refused(406, "NotAcceptable", f"only the following media types are accepted: {_AVAILABLE}")
    available = f"{_AVAILABLE}{_STREAMS}" if streams else _AVAILABLE
    message = f"406: Not Acceptable\n\nAvailable representations: {available}"
    return Refused(406, "NotAcceptable", message, details={})


def watch_form(accept: str) -> Form:
    """The form in which a watch is told: line by line, which YAML cannot be."""
    form = form_of(accept, streams=True)
    if form.media != JSON:
        raise Refused(406, "NotAcceptable", f"only the following media types are accepted: {_STREAMS[2:]}")
    return form


def document_media(accept: str) -> str:
    """YAML for whoever would rather have it, where everything can be told as JSON."""
    try:
        return form_of(accept).media
    except Refused:
        return JSON


class _Head(Struct, frozen=True):
    metadata: Raw = Raw(b"{}")


_head = msgspec.json.Decoder(_Head)


def partial(body: bytes) -> bytes:
    """An object's metadata alone; what a Status tells is told whole."""
    if body.startswith(_STATUS):
        return body
    start = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":'
    return start + bytes(_head.decode(body).metadata) + b"}"


def is_aggregated(accept: str) -> bool:
    """Whether a client would rather have all of discovery in one document."""
    for each in wanted(accept):
        if each.media == JSON:
            return each.parameters.get("as") == "APIGroupDiscoveryList" and each.parameters.get("v") == "v2"
    return False


def wants_protobuf_openapi(accept: str) -> bool:
    """Whether a client reads OpenAPI v2 as protocol buffers, under either of its names."""
    return any(each.media.replace("@", ".") == OPENAPI_V2 for each in wanted(accept))


def in_yaml(body: bytes) -> bytes:
    """The same answer, written as YAML."""
    from trimtab.resources.yaml import dump

    value: Any = msgspec.json.decode(body)
    return dump(value).encode()
