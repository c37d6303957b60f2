"""HTTP/1.1 as bytes: requests as they are written, answers as they are read, piece by piece. Pure.

As much of it as API servers speak. Whatever is not HTTP raises `NotHttp`; nothing is guessed.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from msgspec import Struct
from multidict import CIMultiDict

#: what comes before a body, and what stands between its pieces, is never longer than this
LONGEST_HEAD: Final = 1 << 16
_LONGEST_LINE: Final = 1 << 13
#: what was compressed is given out in pieces of this size: a few bytes may stand for very many
_PIECE: Final = 1 << 18
_END: Final = b"\r\n\r\n"
_EOL: Final = b"\r\n"
_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: ([^\r\n]*))?")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_UNSENDABLE = re.compile(r"[\r\n\x00]")
_BODILESS: Final = frozenset({204, 304})


class NotHttp(Exception):
    """What came is not what HTTP says may come."""


def request(method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes | None) -> bytes:
    """What is sent before the body of a request."""
    lines = [f"{method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    for line in lines:
        if _UNSENDABLE.search(line):
            raise NotHttp(f"a header with a line break, {line.partition(':')[0]}, is not sent")
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


class Head(Struct, frozen=True):
    """How an answer begins."""

    status: int
    headers: CIMultiDict[str]
    #: whether the connection may be used again after the body
    stays: bool

    @property
    def is_preliminary(self) -> bool:
        """Whether the answer is yet to come."""
        return self.status < 200


def head_in(received: bytes) -> tuple[Head, bytes] | None:
    """How an answer begins, and what came after that; None while too little has come."""
    end = received.find(_END, 0, LONGEST_HEAD)
    if end < 0:
        if len(received) >= LONGEST_HEAD or not b"HTTP/1.".startswith(received[:7]):
            raise NotHttp("it does not begin as HTTP does, or never ends to begin")
        return None
    first, *lines = received[:end].split(_EOL)
    status = _STATUS.fullmatch(first)
    if status is None:
        raise NotHttp("it does not begin as HTTP does")
    headers = CIMultiDict(_header(line) for line in lines)
    wishes = headers.get("Connection", "").lower()
    stays = "close" not in wishes and (status[1] == b"1" or "keep-alive" in wishes)
    return Head(int(status[2]), headers, stays), received[end + len(_END) :]


def _header(line: bytes) -> tuple[str, str]:
    name, colon, value = line.partition(b":")
    if not colon or _NAME.fullmatch(name) is None:
        raise NotHttp("one of its headers is none")
    return name.decode("ascii"), value.strip(b" \t").decode("utf-8", "surrogateescape")


class Body(Protocol):
    """How the body of an answer is taken out of what comes."""

    #: all of it has come
    is_whole: bool
    #: it ends with the connection, so nothing tells a cut from its end
    is_open: bool
    #: what came after it
    rest: bytes

    def feed(self, received: bytes) -> bytes:
        """What of it is in what came."""


class Sized:
    """A body of which it is said how long it is."""

    is_open = False

    def __init__(self, size: int) -> None:
        self._left = size
        self.is_whole, self.rest = not size, b""

    def feed(self, received: bytes) -> bytes:
        """What of it is in what came."""
        mine = received[: self._left]
        self._left -= len(mine)
        self.is_whole, self.rest = not self._left, received[len(mine) :]
        return mine


class Unsized:
    """A body that ends with the connection."""

    is_whole, is_open, rest = False, True, b""

    def feed(self, received: bytes) -> bytes:
        """All that came."""
        return received


class Chunked:
    """A body in chunks, each with its size before it."""

    is_open = False

    def __init__(self) -> None:
        self.is_whole, self.rest = False, b""
        self._left = 0
        self._is_after_chunk = self._is_trailing = False

    def feed(self, received: bytes) -> bytes:
        """What of it is in what came."""
        data = self.rest + received if self.rest else received
        pieces, at = [], 0
        while not self.is_whole:
            if self._left:
                piece = data[at : at + self._left]
                at += len(piece)
                self._left -= len(piece)
                self._is_after_chunk = True
                pieces.append(piece)
                if self._left:
                    break
            end = data.find(_EOL, at, at + _LONGEST_LINE)
            if end < 0:
                if len(data) - at >= _LONGEST_LINE:
                    raise NotHttp("a chunk of it does not say its size")
                break
            self._line(data[at:end])
            at = end + len(_EOL)
        self.rest = data[at:]
        return b"".join(pieces)

    def _line(self, line: bytes) -> None:
        """Take in a line between chunks."""
        if self._is_after_chunk:
            self._is_after_chunk = False
            if line:
                raise NotHttp("a chunk of it is longer than it says")
        elif self._is_trailing:
            self.is_whole = not line
        else:
            size = line.partition(b";")[0].strip(b" \t")
            if _SIZE.fullmatch(size) is None:
                raise NotHttp("a chunk of it does not say its size")
            self._left = int(size, 16)
            self._is_trailing = not self._left


def body_of(head: Head) -> Body:
    """How the body of this answer comes."""
    if head.status in _BODILESS:
        return Sized(0)
    coding = head.headers.get("Transfer-Encoding", "").lower()
    if coding == "chunked":
        return Chunked()
    sizes = set(head.headers.getall("Content-Length", ()))
    if coding or len(sizes) > 1:
        raise NotHttp("it does not say how long it is in a way that we know")
    if not sizes:
        return Unsized()
    (size,) = sizes
    if not (size.isascii() and size.isdecimal()):
        raise NotHttp("it does not say how long it is in a way that we know")
    return Sized(int(size))


class Unpacking:
    """What was compressed, as it was before; bounded piece by piece."""

    def __init__(self) -> None:
        self._made = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)

    @property
    def is_whole(self) -> bool:
        """Whether all of it was there."""
        return self._made.eof

    def feed(self, packed: bytes) -> Iterator[bytes]:
        """What these bytes stand for."""
        try:
            while packed:
                yield self._made.decompress(packed, _PIECE)
                packed = self._made.unconsumed_tail
        except zlib.error as error:
            raise NotHttp("it is not compressed as it says") from error


def unpacking_of(head: Head) -> Unpacking | None:
    """How the body of this answer is to be unpacked; None if it is not packed."""
    coding = head.headers.get("Content-Encoding", "identity").lower()
    if coding in {"", "identity"}:
        return None
    if coding not in {"gzip", "x-gzip", "deflate"}:
        raise NotHttp(f"it is compressed as {coding[:40]!r}, which nobody asked for")
    return Unpacking()
