"""The error tree: whose move is it?

    TrimtabError                    subject, reason, remedy
    ├── UserError                   somebody must edit something          never retried   4xx   exit 2
    │   ├── InvalidSpec             what was declared cannot be meant
    │   ├── RenderFailed            a generator could not make manifests
    │   ├── SourceRefused           a source is not trusted or not allowed
    │   ├── NotAllowed              the rights are missing
    │   └── Conflict                somebody else owns it or was faster
    ├── Missing                     it is not there (yet)                 usual rhythm    404   exit 3
    └── Unavailable                 the same request may work later       with backoff    503   exit 4
        ├── ClusterUnreachable
        ├── GitUnreachable
        ├── StoreUnavailable
        └── Throttled               told to wait, and for how long

The class alone fixes retry, HTTP status and exit code; rooms derive their own classes from these and
change none of the three upper ones' meaning. Any other exception is a bug. Messages hold no secrets.
"""

from __future__ import annotations

import enum
from typing import ClassVar

EXIT_BUG = 70


class Retry(enum.Enum):
    """When the same attempt is worth making again."""

    NEVER = "never"
    USUAL_RHYTHM = "usual rhythm"
    BACKOFF = "backoff"


class TrimtabError(Exception):
    """Something a person can act on: what object, what is wrong, what to do."""

    retry: ClassVar[Retry] = Retry.NEVER
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = EXIT_BUG

    def __init__(self, subject: str, reason: str, remedy: str = "") -> None:
        super().__init__(subject, reason, remedy)
        self.subject = subject
        self.reason = reason
        self.remedy = remedy

    @property
    def complaint(self) -> str:
        """What is wrong and what to do, for where the object is named already."""
        return f"{_closed(self.reason)} {_closed(self.remedy)}" if self.remedy else _closed(self.reason)

    def __str__(self) -> str:
        return f"{self.subject}: {self.complaint}"


def _closed(sentence: str) -> str:
    """The sentence with a full stop, unless it already ends in punctuation."""
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


class UserError(TrimtabError):
    """Nothing changes until somebody edits something."""

    http_status = 400
    exit_code = 2


class InvalidSpec(UserError):
    """What was declared cannot be meant."""

    http_status = 422


class RenderFailed(UserError):
    """A generator could not make manifests of the source."""

    http_status = 422


class SourceRefused(UserError):
    """A source is not trusted, or may not be read from here."""

    http_status = 403


class NotAllowed(UserError):
    """The caller lacks the right to do this."""

    http_status = 403


class Conflict(UserError):
    """Somebody else owns it, or changed it first."""

    http_status = 409


class Missing(TrimtabError):
    """The named thing does not exist (yet); its arrival is an ordinary event."""

    retry = Retry.USUAL_RHYTHM
    http_status = 404
    exit_code = 3


class Unavailable(TrimtabError):
    """The same request may work later."""

    retry = Retry.BACKOFF
    http_status = 503
    exit_code = 4


class ClusterUnreachable(Unavailable):
    """A Kubernetes API server does not answer."""


class Damaged(Unavailable):
    """Something that we keep for ourselves is missing or damaged; it can be made anew."""


class GitUnreachable(Unavailable):
    """A Git server does not answer."""


class StoreUnavailable(Unavailable):
    """The database does not answer."""


class Throttled(Unavailable):
    """The other side asked for a pause; `after` says how many seconds, if it said."""

    def __init__(self, subject: str, reason: str, remedy: str = "", *, after: float | None = None) -> None:
        super().__init__(subject, reason, remedy)
        self.after = after
