"""What an API server answers to a request it will not carry out: the values of a `Status`.

Pure functions raise these; a server turns them into HTTP answers, everybody else reads them as user errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from trimtab.errors import Conflict, UserError


class Cause(Struct, frozen=True, kw_only=True):
    """One of several things that are wrong with a request."""

    reason: str
    message: str
    field: str = ""


class Refused(UserError):
    """The request is refused with this code, reason and message, word for word as Kubernetes says it."""

    def __init__(self, code: int, word: str, message: str, *, causes: Sequence[Cause] = ()) -> None:
        super().__init__("request", message)
        self.code = code
        self.word = word
        self.message = message
        self.causes = tuple(causes)

    def __str__(self) -> str:
        return self.message

    def status(self) -> dict[str, Any]:
        """The `Status` object of the answer."""
        status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        status["message"] = self.message
        if self.word:
            status["reason"] = self.word
        if self.causes:
            status["details"] = {"causes": [_written(cause) for cause in self.causes]}
        return {**status, "code": self.code}


def _written(cause: Cause) -> dict[str, str]:
    words = {"reason": cause.reason, "message": cause.message}
    return {**words, "field": cause.field} if cause.field else words


class ApplyConflict(Refused, Conflict):
    """Other managers own fields that the applied configuration would change."""

    def __init__(self, message: str, causes: Sequence[Cause]) -> None:
        super().__init__(409, "Conflict", message, causes=causes)


def bad_request(message: str) -> Refused:
    """The request cannot be understood."""
    return Refused(400, "BadRequest", message)


def internal_error(message: str) -> Refused:
    """What Kubernetes answers to some mistakes of its callers: 500, without a reason."""
    return Refused(500, "", message)
