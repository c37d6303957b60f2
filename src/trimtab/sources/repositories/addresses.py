"""Addresses of Git repositories: what may be written, what git is given, and which two mean the same. Pure.

An address comes from a tenant, so only what is plainly an address of one of four schemes is read. What git is
given is written anew from the parts and can be no option, no other transport and no file by accident.
"""

from __future__ import annotations

import enum
import ipaddress
import re
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct

from trimtab.errors import InvalidSpec
from trimtab.kube.auth.redaction import quoted

_LONGEST: Final = 2048
_REMEDY: Final = "Write it like https://host/group/name.git or git@host:group/name.git"
_URL: Final = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*)://(?:([^/@]*)@)?(\[[^]/]*\]|[^:/@]*)(?::([0-9]*))?(/.*)?"
)
_SCP: Final = re.compile(r"(?:([^/@:]+)@)?(\[[^]/]*\]|[^/@:]+):([^:].*)")
_HOST: Final = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?")
_USER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")

#: where whoever runs the command keeps credentials
WHERE: Final = "~/.config/trimtab/credentials.toml, or the file that repositories.credentials_file names"


class Scheme(enum.Enum):
    """How a repository is spoken to."""

    HTTPS = "https"
    SSH = "ssh"
    HTTP = "http"
    FILE = "file"


_PORTS: Final = {Scheme.HTTPS: 443, Scheme.SSH: 22, Scheme.HTTP: 80, Scheme.FILE: 0}


class Place(Struct, frozen=True, gc=False):
    """Where a repository seems to lie, however it is reached: good enough for a hint, never for a right."""

    host: str
    path: str


class Address(Struct, frozen=True, kw_only=True):
    """The address of one repository, taken apart."""

    scheme: Scheme
    #: in small letters; an IPv6 address without brackets; empty for a file
    host: str
    port: int
    #: begins with a slash, unless SSH is to look for it in the user's home
    path: str
    #: whom SSH logs in as; other schemes have none
    user: str = ""

    @property
    def url(self) -> str:
        """What git is given."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        if self.scheme is not Scheme.SSH:
            return f"{self.scheme.value}://{host}{port}{quote(self.path, safe=_SAFE)}"
        if not self.path.startswith("/"):
            return f"{self.user}@{host}:{self.path}"
        return f"ssh://{self.user}@{host}{port}{quote(self.path, safe=_SAFE)}"

    @property
    def identity(self) -> str:
        """Equal for addresses that cannot be answered by different repositories."""
        user = f"{self.user}@" if self.user else ""
        home = "" if self.path.startswith("/") else "~/"
        return f"{self.scheme.value}://{user}{self.host}:{self.port}{home}{_bare(self.path)}"

    @property
    def place(self) -> Place:
        """Host and path alone: what a webhook can be matched by."""
        return Place(self.host, _bare(self.path).strip("/").casefold())

    @property
    def origin(self) -> tuple[Scheme, str, int]:
        """Whom one speaks to; credentials stay with it."""
        return self.scheme, self.host, self.port

    def __str__(self) -> str:
        return self.url


_SAFE: Final = "/-._~!$&'()*+,;=:@"


def address_of(text: str) -> Address:
    """The address that a text means; `InvalidSpec` if it cannot be one."""
    if text.isspace() or not text:
        raise InvalidSpec("the repository", "no address is given", _REMEDY)
    if len(text) > _LONGEST or not text.isprintable() or " " in text or "\\" in text:
        raise _wrong(text, "holds spaces, backslashes or characters that cannot be printed, or is too long")
    if match := _URL.fullmatch(text):
        return _of_url(text, *(part or "" for part in match.groups()))
    if "::" in text.partition("/")[0].replace("[::", "["):
        raise _wrong(text, "names a transport that is not allowed")
    match = _SCP.fullmatch(text)
    # An @ after the colon is more likely the end of a password than part of a folder's name.
    if match and not match[3].startswith("//") and "@" not in match[3].partition("/")[0]:
        return _of_ssh(text, match[1] or "git", match[2], "", match[3])
    raise _wrong(text, "is not an address that is understood")


def _of_url(text: str, scheme: str, user: str, host: str, port: str, path: str) -> Address:
    known = {each.value: each for each in Scheme}.get(scheme.lower())
    if known is None:
        raise _wrong(text, f"the scheme {quoted(scheme)} is not allowed")
    if ":" in user:
        raise InvalidSpec(
            "the repository",
            "a password stands in its address",
            f"Leave it out, and put a credential into {WHERE}",
        )
    decoded = _decoded(text, path)
    if known is Scheme.FILE:
        if host or user or port:
            raise _wrong(text, "a file has no host")
        return Address(scheme=known, host="", port=0, path=_path(text, decoded))
    if known is Scheme.SSH:
        return _of_ssh(text, _decoded(text, user) or "git", host, port, decoded)
    return Address(
        scheme=known, host=_host(text, host), port=_port(text, port, known), path=_path(text, decoded)
    )


def _of_ssh(text: str, user: str, host: str, port: str, path: str) -> Address:
    if not _USER.fullmatch(user):
        raise _wrong(text, "its user cannot be one")
    return Address(
        scheme=Scheme.SSH,
        user=user,
        host=_host(text, host),
        port=_port(text, port, Scheme.SSH),
        path=_path(text, path),
    )


def _host(text: str, host: str) -> str:
    if host.startswith("["):
        try:
            return str(ipaddress.IPv6Address(host[1:-1]))
        except ValueError:
            raise _wrong(text, "its host cannot be one") from None
    name = host.lower()
    if not name.isascii():
        try:
            name = name.encode("idna").decode()
        except UnicodeError:
            raise _wrong(text, "its host cannot be one") from None
    if not _HOST.fullmatch(name) or len(name) > 253:
        raise _wrong(text, "its host cannot be one")
    return name.rstrip(".")


def _port(text: str, port: str, scheme: Scheme) -> int:
    number = int(port) if port else _PORTS[scheme]
    if not 0 < number < 65536:
        raise _wrong(text, "its port cannot be one")
    return number


def _decoded(text: str, part: str) -> str:
    """A part of a URL without percent signs; what would change its meaning when decoded is refused."""
    if re.search(r"%(?![0-9A-Fa-f]{2})|%2[fF]|%5[cC]|[?#]", part):
        raise _wrong(text, "its path cannot be one")
    try:
        decoded = unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        raise _wrong(text, "its path is not UTF-8") from None
    if not decoded.isprintable():
        raise _wrong(text, "its path holds characters that cannot be printed")
    return decoded


def _path(text: str, path: str) -> str:
    names = path.split("/")
    if ".." in names or "." in names or path.startswith("-"):
        raise _wrong(text, "its path leads elsewhere")
    clean = "/".join(name for name in names if name)
    if not clean or clean.startswith("-") or clean == ".git":
        raise _wrong(text, "it names no repository")
    return f"/{clean}" if path.startswith("/") else clean


def _bare(path: str) -> str:
    """A path without the ending that most servers let one leave out."""
    return path.removesuffix(".git")


def _wrong(text: str, reason: str) -> InvalidSpec:
    return InvalidSpec(f"the repository {_harmless(text)}", reason, _REMEDY)


def _harmless(text: str) -> str:
    """An address as a message may show it: whatever stands before an @ may be a password."""
    return quoted(text.rpartition("@")[2])
