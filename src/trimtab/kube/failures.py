"""What an API server's refusals mean: its Status objects as errors of the house.

Every error names the verb, the kind and the object in its subject and keeps the server's own message; the
classes below say more than the tree's three only where a caller has to act differently. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

import msgspec
from msgspec import Struct

from trimtab.errors import (
    ClusterUnreachable,
    Conflict,
    InvalidSpec,
    Missing,
    NotAllowed,
    Throttled,
    TrimtabError,
    Unavailable,
    UserError,
)
from trimtab.kube.objects import UNREADABLE
from trimtab.resources.secrets import spellings

#: characters of a text that are looked at, and that are repeated; and causes that are repeated
_MOST_READ, _MOST_TOLD, _MOST_CAUSES = 1 << 16, 1 << 14, 100


class Cause(Struct, frozen=True, kw_only=True):
    """One thing the server found wrong, and where."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a Status says about the object and the causes."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] | None = None
    retry_after_seconds: int = 0


class Status(Struct, frozen=True, kw_only=True):
    """The API server's own way to say no."""

    status: str = "Failure"
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The causes, if any were given."""
        return (self.details.causes if self.details else None) or ()


_STATUS: Final = msgspec.json.Decoder(Status)


class Refusal(TrimtabError):
    """The API server answered, and the answer was no; `status` holds all it said."""

    def __init__(self, subject: str, reason: str, remedy: str = "", *, status: Status) -> None:
        super().__init__(subject, reason, remedy)
        self.status = status


class Unauthenticated(Refusal, NotAllowed):
    """The server does not know who is asking."""


class Forbidden(Refusal, NotAllowed):
    """The server knows who is asking and says no."""


class InvalidObject(Refusal, InvalidSpec):
    """The server refuses the object as it was sent."""


class BadRequest(Refusal, UserError):
    """The server does not accept the request itself."""


class NotFound(Refusal, Missing):
    """No such object, or no such kind."""


class AlreadyExists(Refusal, Conflict):
    """An object of this name is there already."""


class ChangedMeanwhile(Refusal, Conflict):
    """The object moved on since it was read, or its identity is another one."""


class FieldConflict(Refusal, Conflict):
    """Another manager owns fields of this apply; the causes name the fields and the managers."""


class Expired(Refusal, Missing):
    """The history asked for is gone, or not there yet: list again and go on from there."""


class ServerFailed(Refusal, Unavailable):
    """The server, or something it depends on, failed while answering."""


class TooManyRequests(Refusal, Throttled):
    """The server asks for a pause."""

    def __init__(
        self, subject: str, reason: str, remedy: str = "", *, status: Status, after: float | None = None
    ) -> None:
        Throttled.__init__(self, subject, reason, remedy, after=after)
        self.status = status


def status_from(code: int, body: bytes, secrets: Collection[str] | None = None) -> Status:
    """The Status in the body of a refusal; bodies of other shapes (proxies, plain text) become one.

    `secrets` are the values that a Secret was sent with, None for other kinds: nothing said about a Secret
    may repeat them, nor what the server holds of it.
    """
    try:
        status = status_in(body, secrets)
    except UNREADABLE:
        status = Status()
    if status.message:
        # Gateways have codes of their own in bodies that look alike; the code of HTTP is the one that counts.
        return msgspec.structs.replace(status, code=code)
    text = " ".join(_words(body[:_MOST_READ].decode(errors="replace"), secrets).split())[:500]
    return Status(code=code, message=f"HTTP {code}{': ' if text else ''}{text}")


def status_in(document: bytes | msgspec.Raw, secrets: Collection[str] | None = None) -> Status:
    """The Status that a document is, as it may be repeated; one of `UNREADABLE` if it is none."""
    return _told(_STATUS.decode(document), secrets)


def _told(status: Status, secrets: Collection[str] | None) -> Status:
    """The Status as it may be repeated: of bearable length, and without secrets."""

    def told(cause: Cause) -> Cause:
        return Cause(
            reason=_words(cause.reason),
            message=_words(cause.message, secrets),
            field=_words(cause.field, secrets),
        )

    causes = tuple(told(cause) for cause in status.causes[:_MOST_CAUSES])
    details = status.details and msgspec.structs.replace(status.details, causes=causes)
    return msgspec.structs.replace(status, message=_words(status.message, secrets), details=details)


def _words(text: str, secrets: Collection[str] | None = None) -> str:
    """What may be repeated of a text; more is read than repeated, so that no secret is cut in half."""
    return without_secrets(text[:_MOST_READ], secrets)[:_MOST_TOLD]


#: how the API server quotes what it was sent, or the whole object that a patch would have made
_ECHOES = re.compile(r'((?:Invalid|Unsupported|Duplicate) value: )"(?:[^"\\]|\\.)*"?|(got )&[^\n]*')


def without_secrets(text: str, secrets: Collection[str] | None) -> str:
    """The text without these values: as they are, line by line, as Go quotes them, in base64 and out of it.

    A value of less than four characters is struck only where it stands in quotes: elsewhere it is more
    likely part of a word.
    """
    if secrets is None:
        return text
    spelt = {spelling for secret in secrets for spelling in spellings(secret)}
    lines = {line for spelling in spelt for line in (spelling, *spelling.splitlines()) if line.strip()}
    forms = lines | {msgspec.json.encode(line).decode()[1:-1] for line in lines}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(f'"{form}"', '"***"')
        if len(form) >= 4:
            text = text.replace(form, "***")
    return _ECHOES.sub(lambda echo: f"{echo[1]}***" if echo[1] else f"{echo[2]}***", text)


#: how the API server says that nobody has given somebody a right
_LACKS_A_RIGHT: Final = re.compile(r'User "[^"]*" cannot ')
#: what helps whoever sent an object that cannot be taken
CORRECTION: Final = "Correct the object and send it again."
_REMEDIES: dict[type[Refusal], str] = {
    Unauthenticated: "Check the user of this context: its token or certificate.",
    Forbidden: "Ask for a role with this verb on this kind.",
    Expired: "List again.",
    InvalidObject: CORRECTION,
    AlreadyExists: "Change the existing one, or choose another name.",
    FieldConflict: "Leave these fields to their owner, or apply with force to take them over.",
    ChangedMeanwhile: "Read it again and repeat the change.",
}


#: with a pause named these say that nothing was done; a 504 never does: what it waited for may have been done
_ASKING_FOR_A_PAUSE = {500, 502, 503}
#: how the API server's 500 begins when an apply has a value of the wrong type: nobody but its author can help
_MISTYPED = ("failed to create typed patch object", "failed to convert new object")


def failure(subject: str, status: Status, *, retry_after: float | None = None) -> TrimtabError:
    """The error that says what this Status means for whoever asked."""
    message = _words(status.message or status.reason)
    if any(cause.reason == "ResourceVersionTooLarge" for cause in status.causes):
        return Expired(subject, message, _REMEDIES[Expired], status=status)
    if retry_after is None and status.details and status.details.retry_after_seconds > 0:
        retry_after = float(status.details.retry_after_seconds)
    if status.code == 429 or (retry_after is not None and status.code in _ASKING_FOR_A_PAUSE):
        return TooManyRequests(
            subject, message, status=status, after=1.0 if retry_after is None else retry_after
        )
    kind = _class_of(status)
    return kind(subject, message, _remedy(kind, message), status=status)


def _remedy(kind: type[Refusal], message: str) -> str:
    """What helps against a refusal; a quota or a policy forbids, too, and no role helps against these."""
    if kind is Forbidden and not _LACKS_A_RIGHT.search(message):
        return ""
    return _REMEDIES.get(kind, "")


def not_waited_for(error: TrimtabError, allowed: float) -> TrimtabError:
    """The error about a server that asks for a longer pause than a request may take, in seconds."""
    if not isinstance(error, TooManyRequests) or error.after is None:
        return error
    reason = f"{error.reason}; it asks for a pause of {error.after:g} s, and a request may take {allowed:g} s"
    return TooManyRequests(error.subject, reason, error.remedy, status=error.status, after=error.after)


def _class_of(status: Status) -> type[Refusal]:
    match status.code:
        case 401:
            return Unauthenticated
        case 403:
            return Forbidden
        case 404:
            return NotFound
        case 409:
            return _conflict(status)
        case 410:
            return Expired
        case 400 | 413 | 415 | 422:
            return InvalidObject
        case 500 if status.message.startswith(_MISTYPED):
            return InvalidObject
        case code:
            # 0: an error in the middle of a watch that does not say what it is
            return ServerFailed if code >= 500 or code == 0 else BadRequest


def _conflict(status: Status) -> type[Refusal]:
    if status.reason == "AlreadyExists":
        return AlreadyExists
    fields = any(cause.reason == "FieldManagerConflict" for cause in status.causes)
    return FieldConflict if fields else ChangedMeanwhile


def unreachable(subject: str, server: str, reason: str) -> ClusterUnreachable:
    """The server gave no usable answer."""
    return ClusterUnreachable(
        subject, f"{server} {reason}", "Check that the address is right and the server is up."
    )
