"""What HTTP says of a request beside its body, read as Go's server and Kubernetes read it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote_plus

from multidict import MultiDict, MultiMapping

from trimtab.apiserver.decoding import JSON
from trimtab.kube.gotext import quoted
from trimtab.kube.refusals import bad_request

_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_MEDIA = re.compile(rf"\s*({_WORD}(?:/{_WORD})?)\s*(?=;|$)")
_PARAMETER = re.compile(rf';\s*({_WORD})\s*=\s*({_WORD}|"(?:[^"\\]|\\.)*")\s*')
_READERS = ("curl", "Wget", "Mozilla/5.0")  # programs in front of which people sit
_TRUE = frozenset({"1", "t", "T", "true", "True", "TRUE"})
_UNITS = frozenset({"ns", "us", "\u00b5s", "\u03bcs", "ms", "s", "m", "h"})
_AMOUNT, _UNIT = re.compile(r"[0-9]*\.?[0-9]*"), re.compile(r"[^.0-9]*")
_LASTING = ("/attach", "/exec", "/log", "/portforward", "/proxy")  # these take as long as they take
EXTRA_SPACE = "the provided Authorization header contains extra space before the bearer token, and is ignored"


class BadTarget(ValueError):
    """An address that cannot be read: whoever sent it speaks no proper HTTP."""


def path_in(target: str) -> str:
    """The path of a request line as it is written there, of a whole address as well."""
    path = target.partition("?")[0]
    if _BAD_ESCAPE.search(path):
        raise BadTarget(path)
    if path.startswith("/"):
        return path
    _, slash, rest = path.partition("://")[2].partition("/")
    return slash + rest


def query_in(target: str) -> MultiDict[str]:
    """The options of a request line; those that cannot be read are left out, as by Go."""
    found: MultiDict[str] = MultiDict()
    for pair in target.partition("?")[2].split("&"):
        if pair and ";" not in pair and not _BAD_ESCAPE.search(pair):
            name, _, value = pair.partition("=")
            found.add(unquote_plus(name), unquote_plus(value))
    return found


def media_type(header: str) -> str:
    """The media type in a Content-Type header; none where the header is malformed."""
    found = _MEDIA.match(header)
    if found is None:
        return ""
    at, given = found.end(), dict[str, str]()
    while (parameter := _PARAMETER.match(header, at)) is not None:
        name, value = parameter[1].lower(), parameter[2]
        if given.setdefault(name, value) != value:
            return ""
        at = parameter.end()
    return found[1].lower() if header[at:].strip() in ("", ";") else ""


def media_of(method: str, header: str) -> str:
    """What a body is written in; of patches the server reads the header with less care."""
    if not header:
        return JSON
    return (header.partition(";")[0] or header) if method == "PATCH" else media_type(header)


def bearer(header: str) -> str:
    """The token in an Authorization header; none where it tells something else."""
    scheme, _, rest = header.partition(" ")
    return rest.partition(" ")[0] if scheme.lower() == "bearer" else ""


def is_for_people(query: MultiMapping[str], headers: Mapping[str, str]) -> bool:
    """Whether JSON is to be laid out for reading: as asked for, or else by the program that asks."""
    if asked := query.get("pretty"):
        return asked in _TRUE
    return headers.get("User-Agent", "").startswith(_READERS)


def check_timeout(path: str, query: MultiMapping[str]) -> None:
    """Refuse a time to answer in that is none; those who watch or follow something are not asked for it."""
    lasting = query.get("watch", "false").lower() not in ("false", "0") or path.endswith(_LASTING)
    if (text := query.get("timeout")) and not lasting and (why := unreadable_duration(text)):
        raise bad_request(f"invalid timeout specified in the request URL - {why}")


def unreadable_duration(text: str) -> str:
    """Why Go cannot read a duration, in its words; nothing if it can."""
    rest = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    if rest == "0":
        return ""
    at, whole = 0, f"duration {quoted(text)}"
    while at < len(rest) or not rest:
        amount = _AMOUNT.match(rest, at)
        if amount is None or not amount[0].strip("."):
            return f"time: invalid {whole}"
        unit = _UNIT.match(rest, amount.end())
        if unit is None or not unit[0]:
            return f"time: missing unit in {whole}"
        if unit[0] not in _UNITS:
            return f"time: unknown unit {quoted(unit[0])} in {whole}"
        at = unit.end()
    return ""
