"""What the old annotation of a container says, and which field says the same."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.kube.schemas.apparmor import is_profile, profile_of


@pytest.mark.parametrize(
    ("annotation", "profile"),
    [
        ("unconfined", {"type": "Unconfined"}),
        ("runtime/default", {"type": "RuntimeDefault"}),
        ("localhost/mine", {"type": "Localhost", "localhostProfile": "mine"}),
        ("localhost/", None),
        ("localhost/ mine", None),
        ("localhost/" + "a" * 4096, None),
        ("", None),
        ("mine", None),
    ],
)
def test_an_annotation_stands_for_a_field_where_one_can_say_the_same(
    annotation: str, profile: dict[str, Any] | None
) -> None:
    assert profile_of(annotation) == profile


@pytest.mark.parametrize(("annotation", "known"), [("", True), ("localhost/", True), ("mine", False)])
def test_an_annotation_that_says_nothing_is_understood_and_any_other_word_is_not(
    annotation: str, *, known: bool
) -> None:
    assert is_profile(annotation) is known
