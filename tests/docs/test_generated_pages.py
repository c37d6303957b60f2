"""What the code knows stands in docs/: no setting, error or verb without its line, and none out of date."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from scripts.write_docs import (
    BEGIN,
    DOCS,
    END,
    PARTS,
    contexts,
    error_classes,
    meanings_in,
    renewed,
    stale,
)
from trimtab.settings import Settings
from trimtab.settings.merge import fields_of, merged


def test_the_generated_parts_are_up_to_date() -> None:
    assert list(stale()) == [], "run `make docs`"


def test_every_setting_is_documented_with_a_meaning() -> None:
    page = (DOCS / "settings.md").read_text()
    for field in fields_of(Settings):
        row = re.search(rf"^\| `{field.name}` \|.*\| (.*) \|$", page, re.MULTILINE)
        assert row, f"{field.key} is not in docs/settings.md"
        assert row[1], f"{field.key} needs a `#:` comment above it"


def test_every_class_of_error_is_documented() -> None:
    page = (DOCS / "errors.md").read_text()
    assert [kind.__name__ for _, kind in error_classes() if f"`{kind.__name__}`" not in page] == []


def test_every_verb_is_documented() -> None:
    page = (DOCS / "cli.md").read_text()
    assert [c.command_path for c in contexts() if f"### `{c.command_path}`" not in page] == []


def test_the_example_of_a_settings_file_is_one() -> None:
    example = re.search(r"```toml\n(.*?)```", (DOCS / "settings.md").read_text(), re.DOTALL)
    assert example
    assert merged(tomllib.loads(example[1]), {}, {}) != Settings()


def test_a_page_keeps_what_people_wrote_around_the_generated_part() -> None:
    page = f"# Title\n\n{BEGIN}\nold\n{END}\n\nThe end.\n"
    assert renewed(page, "new") == f"# Title\n\n{BEGIN}\n\nnew\n\n{END}\n\nThe end.\n"


def test_a_page_without_the_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="the page has no lines"):
        renewed("# Title\n", "new")


def test_a_page_out_of_date_is_noticed(tmp_path: Path) -> None:
    for name in PARTS:
        shutil.copy(DOCS / name, tmp_path / name)
    page = tmp_path / "settings.md"
    page.write_text(page.read_text().replace("| `500` |", "| `50` |"))
    assert stale(tmp_path) == {page: (DOCS / "settings.md").read_text()}


def test_a_meaning_may_take_several_lines_and_stands_right_above() -> None:
    source = (
        "class A(Struct):\n    #: first\n    #: second\n    x: int = 1\n\n    #: lost\n\n    y: int = 2\n"
    )
    assert meanings_in(source) == {"x": "first second", "y": ""}
