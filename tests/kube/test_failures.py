"""What an API server's refusals mean."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import (
    Conflict,
    InvalidSpec,
    Missing,
    NotAllowed,
    Throttled,
    TrimtabError,
    Unavailable,
    UserError,
)
from trimtab.kube import failures
from trimtab.kube.failures import Cause, Status, StatusDetails, failure, status_from, without_secrets


def status(code: int, reason: str = "", *causes: str) -> Status:
    details = StatusDetails(causes=tuple(Cause(reason=cause) for cause in causes)) if causes else None
    return Status(code=code, reason=reason, message="no", details=details)


@pytest.mark.parametrize(
    ("told", "kind", "family"),
    [
        (status(400, "BadRequest"), failures.InvalidObject, InvalidSpec),
        (status(401, "Unauthorized"), failures.Unauthenticated, NotAllowed),
        (status(403, "Forbidden"), failures.Forbidden, NotAllowed),
        (status(404, "NotFound"), failures.NotFound, Missing),
        (status(405, "MethodNotAllowed"), failures.BadRequest, UserError),
        (status(409, "AlreadyExists"), failures.AlreadyExists, Conflict),
        (status(409, "Conflict"), failures.ChangedMeanwhile, Conflict),
        (status(409, "Conflict", "FieldManagerConflict"), failures.FieldConflict, Conflict),
        (status(410, "Expired"), failures.Expired, Missing),
        (status(413, "RequestEntityTooLarge"), failures.InvalidObject, InvalidSpec),
        (status(415, "UnsupportedMediaType"), failures.InvalidObject, InvalidSpec),
        (status(422, "Invalid"), failures.InvalidObject, InvalidSpec),
        (status(429, "TooManyRequests"), failures.TooManyRequests, Throttled),
        (status(500, "InternalError"), failures.ServerFailed, Unavailable),
        (status(504, "Timeout"), failures.ServerFailed, Unavailable),
        (status(504, "Timeout", "ResourceVersionTooLarge"), failures.Expired, Missing),
    ],
)
def test_each_refusal_has_its_class(
    told: Status, kind: type[TrimtabError], family: type[TrimtabError]
) -> None:
    error = failure("get Pod a", told)
    assert type(error) is kind
    assert isinstance(error, family)
    assert (error.subject, error.reason) == ("get Pod a", "no")
    assert error.retry is family.retry
    assert error.exit_code == family.exit_code


def test_a_failing_server_that_names_a_pause_asks_for_it() -> None:
    error = failure("get Pod a", status(503), retry_after=3)
    assert isinstance(error, Throttled)
    assert error.after == 3


def test_a_refusal_that_is_no_status_is_told_by_its_text() -> None:
    assert status_from(502, b"<html>\n bad   gateway</html>").message == "HTTP 502: <html> bad gateway</html>"
    assert status_from(502, b"").message == "HTTP 502"
    assert status_from(403, b'{"metadata": 3}').message == 'HTTP 403: {"metadata": 3}'


@given(st.binary())
def test_any_body_becomes_a_status_with_a_message(body: bytes) -> None:
    assert status_from(500, body).message


@given(st.lists(st.text(min_size=4).filter(str.strip), min_size=1, max_size=3))
def test_no_secret_of_four_characters_survives_in_a_status(secrets: list[str]) -> None:
    message = "data: Invalid value: " + " and ".join(secrets) + msgspec.json.encode(secrets[0]).decode()
    told = Status(message=message, details=StatusDetails(causes=(Cause(message=message),)))
    struck = without_secrets(told, tuple(secrets))
    for text in (struck.message, struck.causes[0].message):
        assert not any(secret in text for secret in secrets if secret not in "***")


def test_a_short_secret_is_struck_only_in_quotes() -> None:
    told = Status(message='value "abc" in abcdef is wrong')
    assert without_secrets(told, ("abc",)).message == 'value "***" in abcdef is wrong'


def test_only_some_lines_of_a_secret_are_struck_too() -> None:
    told = Status(message="line 2: second-line is wrong")
    assert without_secrets(told, ("first-line\nsecond-line\n",)).message == "line 2: *** is wrong"
