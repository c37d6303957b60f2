"""What crosses between a pool and its worker processes: frames, and errors as plain values.

Pure: it packs and unpacks. A frame is a tag, a length and that many bytes. Errors cross as text, never as
pickles: an unpickler runs whatever the bytes say.
"""

from __future__ import annotations

import enum
import struct

from msgspec import Struct

from trimtab import errors
from trimtab.errors import Throttled, TrimtabError

_HEADER = struct.Struct(">BQ")
HEADER_SIZE = _HEADER.size
#: bytes written or read at a time
CHUNK = 262_144
#: how a worker says that memory ran out: what is left of it cannot be trusted, so it goes
EXIT_OUT_OF_MEMORY = 86
#: longest text of a message or traceback that crosses
_LONGEST_TEXT = 16_384


class Tag(enum.IntEnum):
    """What a frame holds."""

    READY = 1  # worker: started
    FUNCTION = 2  # pool: module:name of the function, then
    PAYLOAD = 3  # pool: its argument
    RETURNED = 4  # worker: the result
    RAISED = 5  # worker: a Raised, as JSON
    HINT = 6  # pool: like FUNCTION, where nobody waits for an answer


class Raised(Struct, frozen=True, kw_only=True):
    """An exception in words."""

    type: str
    message: str
    traceback: str
    #: for an error of the house: the nearest class in trimtab.errors, and what it says
    house: str = ""
    subject: str = ""
    reason: str = ""
    remedy: str = ""
    after: float | None = None


class JobRaised(RuntimeError):
    """The function of a job raised something that is not a `TrimtabError`: a bug, and treated like one.

    It does not derive from `TrimtabError` on purpose: nobody outside can act on it, and a keyed worker
    quarantines the key, as for any other bug.
    """

    def __init__(self, function: str, type_name: str, message: str) -> None:
        super().__init__(f"{function} raised {type_name}: {message}")
        self.function = function
        self.type_name = type_name
        self.message = message


def header(tag: Tag, length: int) -> bytes:
    """The bytes before a frame's body."""
    return _HEADER.pack(tag, length)


def framed(tag: Tag, body: bytes) -> bytes:
    """A whole frame."""
    return header(tag, len(body)) + body


def read_header(packed: bytes) -> tuple[Tag, int]:
    """The tag and length of a frame; ValueError if this is no header."""
    tag, length = _HEADER.unpack(packed)
    return Tag(tag), length


def raised(error: BaseException, traceback: str) -> Raised:
    """The exception in words, cut to a bearable length."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    plain = Raised(type=_fit(name), message=_fit(_text(error)), traceback=_fit(traceback[-_LONGEST_TEXT:]))
    if not isinstance(error, TrimtabError):
        return plain
    return Raised(
        type=plain.type,
        message=plain.message,
        traceback=plain.traceback,
        house=next(ancestor.__name__ for ancestor in kind.__mro__ if ancestor.__module__ == errors.__name__),
        subject=_fit(error.subject),
        reason=_fit(error.reason),
        remedy=_fit(error.remedy),
        after=error.after if isinstance(error, Throttled) else None,
    )


def error_of(told: Raised, function: str) -> Exception:
    """The error to raise for it here: an error of the house as its own class, anything else as JobRaised."""
    if told.house:
        return _house_error(told)
    bug = JobRaised(function, told.type, told.message)
    bug.add_note(f"In a worker process:\n{told.traceback}")
    return bug


def _house_error(told: Raised) -> TrimtabError:
    kind: type[TrimtabError] = getattr(errors, told.house)
    if issubclass(kind, Throttled):
        return kind(told.subject, told.reason, told.remedy, after=told.after)
    return kind(told.subject, told.reason, told.remedy)


def _fit(text: str) -> str:
    """The text as it can cross: not endless, and with what is no character spelled out."""
    return text[:_LONGEST_TEXT].encode(errors="backslashreplace").decode()


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as worse:  # noqa: BLE001 - an exception that cannot be printed must still be told
        return f"(its message cannot be read: {type(worse).__name__})"
