"""What registries of charts say and are asked: tags, manifests, and proofs of who asks. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from trimtab.errors import SourceRefused

MANIFEST_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"
_LAYERS: Final = frozenset(
    {
        "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
        "application/tar+gzip",
    }  # the first, and the old one
)
_DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})")
_CHALLENGE: Final = re.compile(r"\s*(Bearer|Basic)\b(.*)", re.IGNORECASE | re.DOTALL)
_PARAMETER: Final = re.compile(r'([A-Za-z]+)="([^"]*)"')
_NEXT: Final = re.compile(r"<([^<>]*)>\s*;[^,]*\brel=\"?next\"?")
_TOKEN: Final = re.compile(r"[\x21-\x7e]{1,65536}")


class Layer(Struct, frozen=True, kw_only=True):
    """The archive of a chart in a registry."""

    digest: str
    size: int


class Challenge(Struct, frozen=True, kw_only=True):
    """How a registry wants to be shown who asks."""

    is_bearer: bool
    realm: str = ""
    service: str = ""


class _Tags(Struct, frozen=True):
    tags: list[str] | None = None


_TAGS: Final = msgspec.json.Decoder(_Tags)


class _Described(Struct, frozen=True):
    mediaType: str = ""  # noqa: N815 - as it is spelled on the wire
    digest: str = ""
    size: int = 0


class _Manifest(Struct, frozen=True):
    layers: list[_Described] = []


_MANIFEST: Final = msgspec.json.Decoder(_Manifest)


class _Token(Struct, frozen=True):
    token: str = ""
    access_token: str = ""


_GIVEN: Final = msgspec.json.Decoder(_Token)


def tag_of(version: str) -> str:
    """The tag of a version; tags hold no plus sign."""
    return version.replace("+", "_")


def version_of_tag(tag: str) -> str:
    """The version that a tag stands for."""
    return tag.replace("_", "+")


def tags_in(answer: bytes, subject: str) -> tuple[str, ...]:
    """The tags that a registry tells."""
    try:
        return tuple(_TAGS.decode(answer).tags or ())
    except (msgspec.DecodeError, RecursionError) as error:
        raise _strange(subject) from error


def next_page(headers: Mapping[str, str]) -> str:
    """Where more tags are told; empty if these were all."""
    found = _NEXT.search(headers.get("Link", ""))
    return found[1] if found else ""


def layer_in(answer: bytes, subject: str) -> Layer:
    """The archive that a manifest names; anything but a chart is refused."""
    try:
        manifest = _MANIFEST.decode(answer)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _strange(subject) from error
    for layer in manifest.layers:
        digest = _DIGEST.fullmatch(layer.digest)
        if layer.mediaType in _LAYERS and digest and layer.size >= 0:
            return Layer(digest=digest[1], size=layer.size)
    raise SourceRefused(subject, "what lies there is no chart", "Mend the address")


def challenge_in(headers: Iterable[str]) -> Challenge | None:
    """What a registry that refuses wants to be shown; a token rather than a password."""
    found = [match for header in headers if (match := _CHALLENGE.fullmatch(header))]
    for match in sorted(found, key=lambda it: it[1].lower() != "bearer"):
        words = {name.lower(): value for name, value in _PARAMETER.findall(match[2])}
        is_bearer = match[1].lower() == "bearer"
        return Challenge(is_bearer=is_bearer, realm=words.get("realm", ""), service=words.get("service", ""))
    return None


def token_url(challenge: Challenge, repository: str, subject: str) -> str:
    """Where a token is asked for that opens one repository for reading, and no more."""
    if not challenge.realm.startswith("https://") or "#" in challenge.realm:
        reason = "the registry has tokens asked for where nobody is sure who answers"
        raise SourceRefused(subject, reason, "Look at the registry")
    asked = {"service": challenge.service} if challenge.service else {}
    words = urlencode(asked | {"scope": f"repository:{repository}:pull"})
    return f"{challenge.realm}{'&' if '?' in challenge.realm else '?'}{words}"


def token_in(answer: bytes, subject: str) -> str:
    """The token that was given."""
    try:
        found = _GIVEN.decode(answer)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _strange(subject) from error
    token = found.token or found.access_token
    if not _TOKEN.fullmatch(token):
        raise _strange(subject)
    return token


def _strange(subject: str) -> SourceRefused:
    return SourceRefused(subject, "the server's answer is not that of a registry", "Mend the address")
