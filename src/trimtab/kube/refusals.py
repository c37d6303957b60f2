"""What an API server answers to a request it will not carry out: the values of a `Status`.

Pure functions raise these; a server turns them into HTTP answers, everybody else reads them as user errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from trimtab.errors import Conflict, UserError


class Cause(Struct, frozen=True, kw_only=True):
    """One of several things that are wrong with a request."""

    reason: str
    message: str
    field: str = ""

    def to_json(self) -> dict[str, str]:
        """A line of a Status's causes."""
        words = {"reason": self.reason, "message": self.message}
        return {**words, "field": self.field} if self.field else words


class Refused(UserError):
    """The request is refused with this code, reason word and message, exactly as Kubernetes says it.

    `hint` says more to people, where Kubernetes keeps silent about the reason.
    """

    def __init__(
        self,
        code: int,
        word: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        hint: str = "",
    ) -> None:
        super().__init__("request", message, hint)
        self.code = code
        self.word = word
        self.message = message
        self.details = details
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def status(self) -> dict[str, Any]:
        """The `Status` object of the answer."""
        status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        status["message"] = self.message
        if self.word:
            status["reason"] = self.word
        if self.details is not None:
            status["details"] = dict(self.details)
        return {**status, "code": self.code}


class ApplyConflict(Refused, Conflict):
    """Other managers own fields that the applied configuration would change."""

    def __init__(self, message: str, causes: Sequence[Cause]) -> None:
        super().__init__(409, "Conflict", message, details={"causes": [cause.to_json() for cause in causes]})
        self.causes = tuple(causes)


def bad_request(message: str) -> Refused:
    """The request cannot be understood."""
    return Refused(400, "BadRequest", message)


def internal_error(message: str) -> Refused:
    """What Kubernetes answers to some mistakes of its callers: 500, without a reason."""
    return Refused(500, "", message)
