"""Acting as somebody else is asked for in headers, as client-go writes them."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.kube.auth.impersonation import Impersonation, impersonation_headers, impersonation_problem


def test_oneself_needs_no_headers() -> None:
    assert impersonation_headers(Impersonation()) == ()
    assert impersonation_problem(Impersonation()) == ""


def test_groups_and_extra_values_repeat_their_header() -> None:
    who = Impersonation(
        user="alice",
        uid="42",
        groups=("dev", "ops"),
        extra={"scopes": ("view", "edit"), "acme.com/Team": ("a",)},
    )
    assert impersonation_headers(who) == (
        ("Impersonate-User", "alice"),
        ("Impersonate-Uid", "42"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-scopes", "view"),
        ("Impersonate-Extra-scopes", "edit"),
        ("Impersonate-Extra-acme.com%2FTeam", "a"),
    )


@settings(deadline=None)
@given(st.text(min_size=1).filter(lambda key: key.isprintable()))
def test_the_server_reads_every_key_back(key: str) -> None:
    ((name, _),) = impersonation_headers(Impersonation(extra={key: ("value",)}))
    encoded = name.removeprefix("Impersonate-Extra-")
    assert encoded.isascii()
    assert unquote_to_bytes(encoded) == key.encode()


@pytest.mark.parametrize(
    ("who", "problem"),
    [
        (Impersonation(groups=("a",)), "uid, groups or extra values are given, but no user to act as"),
        (Impersonation(uid="a"), "uid, groups or extra values are given, but no user to act as"),
        (Impersonation(user="a\r\nX: y"), "what to act as holds line breaks or control characters"),
        (
            Impersonation(user="a", groups=("\0",)),
            "what to act as holds line breaks or control characters",
        ),
        (
            Impersonation(user="a", extra={"": ("b",)}),
            "a key of the extra values is empty or holds control characters",
        ),
    ],
)
def test_what_cannot_be_sent_is_named(who: Impersonation, problem: str) -> None:
    assert impersonation_problem(who) == problem
