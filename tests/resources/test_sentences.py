"""Several things said as one."""

from __future__ import annotations

import pytest

from trimtab.resources.sentences import joined


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((), ""),
        (("one.",), "one."),
        (("one.", "two"), "one; two"),
        (("one", "", "two."), "one; two."),
        (("so on...", "and 2 more"), "so on...; and 2 more"),
        (("really?", "yes"), "really?; yes"),
    ],
)
def test_what_is_joined_has_no_full_stop_in_its_midst(parts: tuple[str, ...], said: str) -> None:
    assert joined(parts) == said
