"""Nothing secret or private is left of what a program said."""

from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.sources.rendering.cleaning import HIDDEN, cleaned, is_telling, secret_texts


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "dbPassword",
        "PASSWD",
        "token",
        "apiKey",
        "api_key",
        "clientSecret",
        "tls.key",
        "key",
        "db-pw",
    ],
)
def test_telling_names(name: str) -> None:
    assert is_telling(name)


@pytest.mark.parametrize("name", ["image", "keyboard", "replicas", "monkey", "host", "keys"])
def test_names_that_tell_nothing(name: str) -> None:
    assert not is_telling(name)


def test_values_under_telling_names_are_secret_however_deep() -> None:
    values = {
        "db": {"password": "hunter2", "host": "db.example"},
        "tokens": [{"a": "tok-1234"}],
        "image": "nginx",
    }
    found = secret_texts(values)
    assert {"hunter2", "tok-1234", base64.b64encode(b"hunter2").decode()} <= set(found)
    assert not {"db.example", "nginx"} & set(found)


def test_short_values_and_truths_are_no_secrets() -> None:
    assert secret_texts({"password": "abc", "auth": True, "token": None}) == ()


@given(st.text(alphabet="abcXYZ0189-_!", min_size=4, max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_a_known_secret_never_survives(secret: str, before: str, after: str) -> None:
    told = cleaned(before + secret + after, secret_texts({"password": secret}))
    assert secret not in told.replace(HIDDEN, "")


@pytest.mark.parametrize(
    ("said", "canary"),
    [
        ("fatal: https://user:hunter2@example.org/x failed", "hunter2"),
        ("Authorization: Bearer abc.def.ghi", "abc.def"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("token ghp_0123456789abcdefghij here", "ghp_0123"),
        ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN"),
        ("-----BEGIN PRIVATE KEY-----\nMIIabc\n-----END PRIVATE KEY-----", "MIIabc"),
        ("cannot unmarshal !!str `hunter2` into map", "hunter2"),
        ("password: hunter2", "hunter2"),
        ('db_password="hunter2" is wrong', "hunter2"),
        ("secretKey=hunter2, other", "hunter2"),
        ("value 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "9f86d081"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "eyJhbGci"),
    ],
)
def test_what_looks_like_a_credential_is_hidden(said: str, canary: str) -> None:
    told = cleaned(said)
    assert canary not in told
    assert HIDDEN in told


def test_private_folders_and_control_characters_go_and_the_sense_stays() -> None:
    said = "\x1b[31mError:\x1b[0m open /tmp/private/7/repository/app/x.yaml: no such file\u202e"
    private = ("/tmp/private/7/repository", "/tmp/private/7")
    assert cleaned(said, (), private) == "Error: open app/x.yaml: no such file"


def test_only_the_last_lines_are_kept() -> None:
    told = cleaned("\n".join(f"line {n}" for n in range(1000)))
    assert told.splitlines()[-1] == "line 999"
    assert len(told.splitlines()) == 12
    assert len(cleaned("word " * 10_000)) <= 2000


def test_ordinary_words_stay() -> None:
    said = "Error: execution error at (web/templates/deployment.yaml:14:20): image.tag is required"
    assert cleaned(said) == said


@pytest.mark.parametrize("said", ["a-", "a.", "token", "token ", "password: ", "://a", "eyJ", "1/"])
def test_no_text_takes_long_to_clean(said: str) -> None:
    begun = time.process_time()
    cleaned(said * (1 << 16))
    assert time.process_time() - begun < 5  # minutes, if each character looked at all that follow


def test_what_stands_far_from_the_end_is_not_looked_at() -> None:
    assert cleaned("words\n" * (1 << 20) + "password: hunter2").endswith(f"words\npassword: {HIDDEN}")
    assert cleaned("x" + " \n" * (1 << 16) + "the end") == "the end"
