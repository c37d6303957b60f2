"""Secrets do not print themselves, and foreign text is made fit to show."""

from __future__ import annotations

import time

import msgspec
import pytest

from trimtab.kube.auth.redaction import Secret, presentable, quoted, secrets_among, secrets_in_arguments

PEM_START = "-----BEGIN PRIVATE KEY-----"


def test_a_secret_shows_itself_only_when_asked() -> None:
    secret = Secret("canary")
    assert secret.reveal() == "canary"
    assert [repr(secret), str(secret), f"{secret}", f"{[secret]}"] == ["<hidden>"] * 3 + ["[<hidden>]"]


def test_a_secret_cannot_be_encoded_by_accident() -> None:
    with pytest.raises(TypeError):
        msgspec.json.encode({"token": Secret("canary")})


def test_secrets_compare_by_what_they_hold() -> None:
    assert Secret("a") == Secret("a") != Secret("b")
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2
    assert not Secret("")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("", ""),
        ("plain words", "plain words"),
        ("one\ntwo\n\nthree\nfour\n", "two / three / four"),
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07bell\x07", "red bell"),
        ("a\u202eb", "ab"),
        ("Authorization: Bearer canary", "Authorization: Bearer <hidden>"),
        ('{"token": "canary"}', '{"token": "<hidden>"}'),
        ("password=canary rest", "password=<hidden> rest"),
        ("bad eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0. here", "bad <hidden> here"),
        ("key A1b2C3d4E5f6G7h8I9j0K1 is wrong", "key <hidden> is wrong"),
        (f"{PEM_START}\nMIIcanary\n-----END PRIVATE KEY-----\nbad key", "<hidden> / bad key"),
        (f"{PEM_START}\nMIIcanary", "<hidden>"),
        (f"{'ab/c' * 16}\nbad key", "<hidden> / bad key"),
        ("my planted word", "my <hidden> word"),
        ("-" * 30 + " a-1" + "-b" * 10, "-" * 30 + " <hidden>"),
        ("a-word-without-digits-is-no-key", "a-word-without-digits-is-no-key"),
        ("2026-11-16-12-00-00-000000", "2026-11-16-12-00-00-000000"),
        ("cannot reach https://sso.example.com/login", "cannot reach https://sso.example.com/login"),
        ("open /home/alice/.aws/config: no such file", "open /home/alice/.aws/config: no such file"),
    ],
)
def test_foreign_text_is_shown_in_one_line_without_secrets(said: str, shown: str) -> None:
    assert presentable(said, secrets=["planted"]) == shown


@pytest.mark.parametrize("said", ["a-", "-", "1_", "=a", "eyJ", "token=", "-----BEGIN ", 'token: "'])
def test_no_text_takes_long_to_be_shown(said: str) -> None:
    begun = time.process_time()
    assert presentable(said * (1 << 16))
    assert time.process_time() - begun < 5  # minutes, if each character looked at all that follow


def test_foreign_text_is_not_endless() -> None:
    assert presentable("word " * 1_000_000, width=20) == "…" + " word" * 4


def test_flags_and_variables_tell_secrets_by_their_names() -> None:
    assert secrets_in_arguments(["get", "--client-secret=a", "--token", "b", "--region", "c"]) == ("a", "b")
    assert secrets_in_arguments([]) == ()
    assert secrets_among({"GITHUB_TOKEN": "a", "HOME": "b", "DB_PASSWORD": "c"}) == ("a", "c")


def test_a_name_in_a_message_stays_in_its_quotes_and_its_line() -> None:
    assert quoted("a\nb\x1b") == '"a?b?"'
    assert quoted("a" * 200) == f'"{"a" * 100}…"'
