"""Words about failures, fit for a status."""

from __future__ import annotations

import time

import pytest

from trimtab.engine.sync.messages import clean, told
from trimtab.errors import Conflict, Unavailable

PATCHED = (
    'error when applying patch: {"spec":{"a":{"b":1}}} to: Resource: "apps/v1, Resource=deployments", '
    'Name: "web" for: "/dev/shm/9": field is immutable'
)


@pytest.mark.fact("S59")
@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("quota exceeded", "quota exceeded"),
        ('error when creating "/dev/shm/1234": the name is taken', "the name is taken"),
        ('error when patching "/tmp/x.yaml": no', "no"),
        (PATCHED, "field is immutable"),
        ("a map[never closed", "a …"),
        ('Invalid value: map[string]interface {}{"a":1}: bad', "Invalid value: …: bad"),
        ("Invalid value: map[app:web tier:map[a:b]]: bad", "Invalid value: …: bad"),
        (
            'Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"web"}}: immutable',
            "Invalid value: …: immutable",
        ),
        ("two\n  lines", "two lines"),
    ],
)
def test_messages_are_freed_of_file_names_patches_and_dumps(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_a_long_message_is_cut() -> None:
    assert (len(clean("x" * 5000)), clean("x" * 5000)[-1]) == (1000, "…")


def test_the_remedy_is_told_with_the_reason() -> None:
    assert told(Conflict("it", "somebody was faster.", "Try again.")) == "somebody was faster. Try again."
    assert told(Unavailable("it", "no answer")) == "no answer"


@pytest.mark.parametrize("said", ["a", "a.", "&a", "map[", "{", "…a ", 'to:"" '])
def test_no_text_takes_long_to_clean(said: str) -> None:
    begun = time.process_time()
    assert clean(said * (1 << 15))
    assert time.process_time() - begun < 5  # far longer, if each character looked at all that follow
