"""Which form of an answer a client asks for, and answers in that form. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Raw, Struct

from trimtab.kube import trees
from trimtab.kube.refusals import Refused

JSON, YAML = "application/json", "application/yaml"
OPENAPI_V2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
PARTIAL, PARTIAL_LIST = "PartialObjectMetadata", "PartialObjectMetadataList"
META = "meta.k8s.io"
_SPOKEN = (JSON, YAML, "*/*")
_AVAILABLE = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
_STREAMS = ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
LARGEST_LAYOUT = 1 << 26  # bytes: indents grow with every level
_STATUS = b'{"kind":"Status",'


class Form(Struct, frozen=True):
    """How an answer is written: as what media type, in what shape if not its own, and laid out or not."""

    media: str = JSON
    shape: str = ""  # `PARTIAL` or `PARTIAL_LIST`
    version: str = "v1"  # of the shape
    for_people: bool = False


class Wanted(Struct, frozen=True):
    """One of the media types that a client accepts."""

    media: str
    parameters: dict[str, str]

    @property
    def converts(self) -> bool:
        """Whether something else is wanted than the object as it is."""
        return any(self.parameters.get(name) for name in ("as", "g", "v"))


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


def _liked(accept: str) -> list[Wanted]:
    return sorted(wanted(accept or JSON), key=_preference, reverse=True)


def form_of(accept: str, *, streams: bool = False) -> Form:
    """The form to answer in; Tables are not made here, so clients that accept them get the objects.

    `streams` says that the address can be watched, which a refusal mentions.
    """
    check_spoken(accept, f"{_AVAILABLE}{_STREAMS}" if streams else _AVAILABLE)
    found = next(filter(None, map(_form, _liked(accept))), None)
    if found is None:
        raise _only(_AVAILABLE)
    return found


def check_spoken(accept: str, available: str = _AVAILABLE, spoken: Sequence[str] = _SPOKEN) -> None:
    """Refuse whoever accepts no media type that is written; parameters are not looked at yet."""
    if not any(each.media in spoken for each in wanted(accept or JSON)):
        message = f"406: Not Acceptable\n\nAvailable representations: {available}"
        raise Refused(406, "NotAcceptable", message, details={})


def _form(each: Wanted) -> Form | None:
    """The form that one media type asks for, if answers can have it."""
    plain = plain_form(each)
    if plain is not None:
        return plain
    media, given = _media(each), each.parameters
    if not media or given.get("g") != META or given.get("v") not in ("v1", "v1beta1"):
        return None
    match given.get("as"):
        case "PartialObjectMetadata" | "PartialObjectMetadataList" as shape:
            return Form(media, shape, given["v"])
        case "Table":
            return Form(media)
        case _:
            return None


def plain_form(each: Wanted) -> Form | None:
    """The form that one media type asks for, of an object as it is."""
    media = _media(each)
    if not media or each.converts or each.parameters.get("stream") not in (None, "watch"):
        return None
    return Form(media, for_people=each.parameters.get("pretty") == "1")


def _media(each: Wanted) -> str:
    return (
        JSON if each.media in ("*/*", "application/*") else each.media if each.media in (JSON, YAML) else ""
    )


def _only(available: str) -> Refused:
    return Refused(406, "NotAcceptable", f"only the following media types are accepted: {available}")


def watch_form(accept: str) -> Form:
    """The form in which a watch is told: line by line, which YAML cannot be."""
    form = form_of(accept, streams=True)
    if form.media != JSON:
        raise _only(_STREAMS[2:])
    return form


def document_form(accept: str) -> Form:
    """The form of what the server says of itself, which has no other shape than its own."""
    found = next(filter(None, map(plain_form, _liked(accept))), None)
    if found is None:
        raise _only(_AVAILABLE)
    return found


def refusal_form(accept: str) -> Form:
    """The form of a refusal: where none can be had that is asked for, JSON laid out for people."""
    return next(filter(None, map(plain_form, _liked(accept))), Form(for_people=True))


def check_shape(form: Form, *, listed: bool, type_name: str) -> None:
    """Refuse the metadata of one object where there is a list, and of a list where there is one object."""
    if form.shape == PARTIAL and listed:
        told = f"you requested {PARTIAL}, but the requested object is a list ({type_name})"
    elif form.shape == PARTIAL_LIST and not listed:
        told = f"you requested {PARTIAL_LIST}, but the requested object is not a list ({type_name})"
    else:
        return
    raise Refused(406, "NotAcceptable", told)


class _Head(Struct, frozen=True):
    metadata: Raw = Raw(b"{}")


_head = msgspec.json.Decoder(_Head)


def is_status(body: bytes) -> bool:
    """Whether an answer tells how something went, which is told whole in every form."""
    return body.startswith(_STATUS)


def partial(body: bytes, version: str = "v1") -> bytes:
    """An object's metadata alone; what a Status tells is told whole."""
    if is_status(body):
        return body
    start = f'{{"kind":"{PARTIAL}","apiVersion":"{META}/{version}","metadata":'.encode()
    return start + _metadata(body) + b"}"


def _metadata(body: bytes) -> bytes:
    try:
        return bytes(_head.decode(body).metadata)
    except RecursionError:
        return trees.encoded(trees.decoded(body).get("metadata", {}))


def is_aggregated(accept: str) -> bool:
    """Whether a client would rather have all of discovery in one document."""
    for each in wanted(accept):
        if each.media == JSON:
            return each.parameters.get("as") == "APIGroupDiscoveryList" and each.parameters.get("v") == "v2"
    return False


def wants_protobuf_openapi(accept: str) -> bool:
    """Whether a client reads OpenAPI v2 as protocol buffers, under either of its names."""
    return any(each.media.replace("@", ".") == OPENAPI_V2 for each in wanted(accept))


def wants_json_openapi(accept: str) -> bool:
    """Whether a client reads OpenAPI v2 as JSON."""
    return any(each.media in (JSON, "application/*", "*/*") for each in wanted(accept or JSON))


def is_laid_out_beyond(body: bytes) -> bool:
    """Whether an answer, laid out for people, is more than anybody would read."""
    signs = body.count(b"{") + body.count(b"[")
    if 2 * signs * (2 * signs + body.count(b",")) <= LARGEST_LAYOUT:  # however deep they stand
        return False
    return trees.indentation(body) > LARGEST_LAYOUT


def in_yaml(body: bytes) -> bytes:
    """The same answer, written as YAML."""
    from trimtab.resources.yaml import dump

    if is_laid_out_beyond(body):
        return body  # it is YAML as it is
    return dump(trees.decoded(body), depth=trees.DEEPEST + 1).encode()
