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


def test_the_code_of_http_counts_and_not_what_a_gateway_writes_into_its_body() -> None:
    told = status_from(503, b'{"code": 14, "message": "upstream is away"}')
    assert isinstance(failure("get Pod a", told), failures.ServerFailed)


def test_an_error_in_a_watch_that_does_not_say_what_it_is_may_pass_by_itself() -> None:
    assert isinstance(failure("watch Pod", Status(message="no")), Unavailable)


def test_a_pause_named_in_the_status_itself_is_asked_for() -> None:
    told = Status(code=429, message="no", details=StatusDetails(retry_after_seconds=7))
    error = failure("watch Pod", told)
    assert isinstance(error, Throttled)
    assert error.after == 7


def test_a_gateway_that_waited_in_vain_does_not_say_that_nothing_was_done() -> None:
    assert not isinstance(failure("create Pod a", status(504), retry_after=1), Throttled)


def test_a_value_of_the_wrong_type_is_its_authors_to_mend_though_the_server_says_500() -> None:
    told = Status(code=500, message="failed to create typed patch object (/s; /v1, Kind=Secret): .data.p")
    assert isinstance(failure("apply Secret s", told), failures.InvalidObject)


def test_a_flood_of_words_is_cut_to_a_bearable_length_in_a_moment() -> None:
    flood, wave = "got &" * 200_000, "got &" * 4000
    body = {"message": flood, "details": {"causes": [{"message": wave, "field": wave}] * 1000}}
    told = status_from(422, msgspec.json.encode(body), ["hunter2"])
    assert len(msgspec.json.encode(told)) < 4_000_000
    assert len(failure("watch Pod", Status(message=flood)).reason) <= 1 << 14


@given(st.lists(st.text(min_size=4).filter(str.strip), min_size=1, max_size=3))
def test_no_secret_of_four_characters_survives_in_a_status(secrets: list[str]) -> None:
    message = "data: Invalid value: " + " and ".join(secrets) + msgspec.json.encode(secrets[0]).decode()
    cause = {"message": message, "field": f"data[{secrets[0]}]"}
    body = msgspec.json.encode({"message": message, "details": {"causes": [cause]}})
    struck = status_from(422, body, secrets)
    for text in (struck.message, struck.causes[0].message, struck.causes[0].field):
        assert not any(secret in text for secret in secrets if secret not in "data[***]")


def test_no_half_of_a_secret_is_left_where_a_long_text_is_cut() -> None:
    told = status_from(502, b"x" * 490 + b" correct  horse battery staple", ["correct  horse battery staple"])
    assert told.message.endswith("x ***")


@pytest.mark.parametrize(
    ("text", "secrets", "left"),
    [
        ('value "abc" in abcdef is wrong', ["abc"], 'value "***" in abcdef is wrong'),
        ("line 2: second-line is wrong", ["first-line\nsecond-line\n"], "line 2: *** is wrong"),
        ("the password hunter2 is weak", ["aHVudGVyMg=="], "the password *** is weak"),
        ("data.p is aHVudGVyMg==", ["hunter2"], "data.p is ***"),
        (
            'patch: Invalid value: "{\\"data\\":{\\"a\\":\\"Yg==\\"}}": cannot convert int64',
            [],
            "patch: Invalid value: ***: cannot convert int64",
        ),
        ('patch: Invalid value: "cut off in the mid', [], "patch: Invalid value: ***"),
        ("expected string, got &value.valueUnstructured{Value:1e+06}", [], "expected string, got ***"),
        ('secrets "a" already exists', [], 'secrets "a" already exists'),
    ],
)
def test_neither_what_was_sent_nor_what_the_server_holds_is_left(
    text: str, secrets: list[str], left: str
) -> None:
    assert without_secrets(text, secrets) == left


def test_what_is_said_about_other_kinds_stays_as_it_is() -> None:
    assert without_secrets('Invalid value: "x"', None) == 'Invalid value: "x"'


def test_only_whoever_lacks_a_right_is_told_to_ask_for_a_role() -> None:
    lacking = (
        'secrets "a" is forbidden: User "ann" cannot get resource "secrets" in API group "" in namespace "b"'
    )
    full = 'configmaps "a" is forbidden: exceeded quota: most, requested: configmaps=1, used: configmaps=1'
    told = [failure("it", Status(code=403, message=message)).remedy for message in (lacking, full)]
    assert told == ["Ask for a role with this verb on this kind.", ""]
