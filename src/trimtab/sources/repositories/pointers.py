"""Git LFS as words: pointers, where its server is, what is asked of it and what it answers. Pure.

A pointer stands in the repository for a file that is kept elsewhere, and names it by its SHA-256, so whatever
a server sends can be proven. Who asks, and where the files are kept, is decided in `largefiles`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct, structs

from trimtab.errors import GitUnreachable, InvalidSpec, SourceRefused
from trimtab.kube.auth.redaction import presentable
from trimtab.sources.repositories.addresses import Address, Scheme, address_of

#: how every pointer begins; the second is what the first users of LFS wrote
BEGINNINGS: Final = (b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/")
#: no pointer is longer
LONGEST: Final = 1024
MEDIA_TYPE: Final = "application/vnd.git-lfs+json"
#: how files that LFS keeps are marked in .gitattributes
ATTRIBUTE: Final = b"filter=lfs"
CONFIG: Final = ".lfsconfig"
#: objects that servers agree to be asked for at once
AT_ONCE: Final = 100

_OID: Final = re.compile(rb"^oid sha256:([0-9a-f]{64})$", re.MULTILINE)
_SIZE: Final = re.compile(rb"^size ([0-9]{1,15})$", re.MULTILINE)
_WEB: Final = {each.value for each in (Scheme.HTTPS, Scheme.HTTP)}
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
#: how a request is framed, and to whom it goes, is not for a server to say
_OURS: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "te", "upgrade"})


class Pointer(Struct, frozen=True, order=True, gc=False):
    """Which file a pointer stands for."""

    oid: str
    size: int


class Download(Struct, frozen=True, kw_only=True):
    """Where one file is to be had, and what to say there."""

    pointer: Pointer
    href: str
    headers: Mapping[str, str] = {}

    @property
    def says_who(self) -> bool:
        """Whether the server has given a proof of its own to show there."""
        return any(name.lower() == "authorization" for name in self.headers)


def pointer_in(content: bytes) -> Pointer | None:
    """The pointer that a file is, if it is one."""
    if len(content) > LONGEST or not content.startswith(BEGINNINGS):
        return None
    oid, size = _OID.search(content), _SIZE.search(content)
    return Pointer(oid[1].decode(), int(size[1])) if oid and size else None


def endpoint_of(repository: Address, configured: str = "") -> Address:
    """Where files are asked for: beside it, or where on its host its `.lfsconfig` says."""
    subject = f"Git LFS of {repository}"
    if configured:
        return _configured(repository, configured, subject)
    if repository.scheme is Scheme.FILE:
        reason = "a folder of this machine has no server for it"
        raise SourceRefused(subject, reason, "Commit the files themselves, or use a server")
    path = f"/{repository.path.strip('/').removesuffix('.git')}.git/info/lfs"
    if repository.scheme is Scheme.SSH:
        return Address(scheme=Scheme.HTTPS, host=repository.host, port=443, path=path)
    return structs.replace(repository, path=path)


def _configured(repository: Address, configured: str, subject: str) -> Address:
    try:
        found = address_of(configured)
    except InvalidSpec as exc:
        raise SourceRefused(subject, f"{CONFIG} names a server that cannot be one", "Mend it") from exc
    is_same = found.origin == repository.origin
    is_secure_way = found.host == repository.host and found.scheme is Scheme.HTTPS
    if found.scheme.value not in _WEB or not (is_same or is_secure_way):
        reason = f"{CONFIG} names another server ({found.scheme.value}://{found.host}:{found.port})"
        raise SourceRefused(subject, reason, "Keep the files on the repository's own server")
    return found


def origin_of(href: str, subject: str) -> Address:
    """The server that a link leads to, as an address that can be judged."""
    scheme, _, rest = href.partition("://")
    server = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if scheme not in _WEB or "@" in server or "\\" in href or not href.isprintable():
        raise SourceRefused(subject, "its server names a link that may not be followed")
    try:
        return address_of(f"{scheme}://{server}/files")
    except InvalidSpec as exc:
        raise SourceRefused(subject, "its server names a link that may not be followed") from exc


def grant_request(repository: Address) -> str:
    """What a server is asked by SSH: who has a key there needs no other credential for the files."""
    return f"git-lfs-authenticate {shlex.quote(repository.path)} download"


def granted_in(answer: bytes, repository: Address) -> tuple[Address, dict[str, str]]:
    """Where a server that was asked by SSH keeps the files, and what to say there."""
    subject = f"Git LFS of {repository}"
    try:
        granted = _GRANTED.decode(answer)
        endpoint = address_of(granted.href) if granted.href else endpoint_of(repository)
    except (msgspec.DecodeError, InvalidSpec) as exc:
        raise GitUnreachable(subject, "the server's answer is not that of Git LFS", "Look at it") from exc
    if endpoint.scheme.value not in _WEB:
        raise SourceRefused(subject, f"the server keeps them where only {endpoint.scheme.value} leads")
    return endpoint, _headers(granted.header)


class _Granted(Struct, frozen=True):
    href: str = ""
    header: dict[str, str] = {}


_GRANTED: Final = msgspec.json.Decoder(_Granted)


class _Action(Struct, frozen=True):
    href: str
    header: dict[str, str] = {}


class _Actions(Struct, frozen=True):
    download: _Action | None = None


class _Problem(Struct, frozen=True):
    code: int = 0
    message: str = ""


class _Told(Struct, frozen=True):
    oid: str
    size: int = 0
    actions: _Actions = _Actions()
    error: _Problem | None = None


class _Answer(Struct, frozen=True):
    objects: list[_Told]
    transfer: str = "basic"


_ANSWER: Final = msgspec.json.Decoder(_Answer)


def question(pointers: Iterable[Pointer]) -> bytes:
    """What a server is asked: where these files are to be had."""
    asked = {
        "operation": "download",
        "transfers": ["basic"],
        "objects": [{"oid": each.oid, "size": each.size} for each in pointers],
        "hash_algo": "sha256",
    }
    return msgspec.json.encode(asked)


def downloads_in(answer: bytes, asked: Iterable[Pointer], subject: str) -> tuple[Download, ...]:
    """Where the files are that the server has; what it lacks, and what nobody asked for, is left out."""
    try:
        told = _ANSWER.decode(answer)
    except msgspec.DecodeError as exc:
        raise GitUnreachable(subject, "the server's answer is not that of Git LFS", "Look at it") from exc
    if told.transfer != "basic":
        raise SourceRefused(subject, f"the server insists on {presentable(told.transfer)!r} transfers")
    wanted = {each.oid: each for each in asked}
    return tuple(
        Download(pointer=wanted.pop(each.oid), href=action.href, headers=_headers(action.header))
        for each in told.objects
        if each.error is None and (action := each.actions.download) and each.oid in wanted
    )


def _headers(told: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in told.items()
        if _HEADER_NAME.fullmatch(name) and name.lower() not in _OURS and value.isprintable()
    }
