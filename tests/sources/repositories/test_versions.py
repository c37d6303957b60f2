"""Versions and ranges of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.sources.repositories.versions import is_range, newest, range_of, version_of

#: range, versions in it, versions outside; as Masterminds/semver v3 answers
TABLE = [
    ("*", "0.0.0 1.2.3 99.0.0", "1.0.0-rc1"),
    ("1.x", "1.0.0 1.9.9", "0.9.9 2.0.0"),
    ("1.2.x", "1.2.0 1.2.9", "1.3.0 1.1.9"),
    ("1.*", "1.0.0 1.9.9", "2.0.0"),
    ("=1.2.3", "1.2.3 v1.2.3", "1.2.4"),
    ("!=1.2.3", "1.2.4 1.2.2", "1.2.3"),
    ("!=1.2.x", "1.3.0 1.1.0", "1.2.0 1.2.9"),
    (">1.2.3", "1.2.4 2.0.0", "1.2.3 1.2.2"),
    (">1.2", "1.3.0", "1.2.0 1.2.9"),
    (">1", "2.0.0", "1.0.0 1.9.0"),
    (">=1.2", "1.2.0 3.0.0", "1.1.9"),
    ("<2", "1.9.9 0.0.0", "2.0.0 2.1.0"),
    ("<=1.2", "1.2.0 1.2.9 0.1.0", "1.3.0"),
    ("<=2", "2.9.9", "3.0.0"),
    ("~1.2.3", "1.2.3 1.2.9", "1.2.2 1.3.0"),
    ("~1.2", "1.2.0 1.2.9", "1.3.0"),
    ("~1", "1.0.0 1.9.0", "2.0.0"),
    ("~>1.2.3", "1.2.3 1.2.9", "1.3.0"),
    ("^1.2.3", "1.2.3 1.9.0", "1.2.2 2.0.0"),
    ("^1.2.x", "1.2.0 1.9.0", "2.0.0"),
    ("^0.2.3", "0.2.3 0.2.9", "0.3.0 0.2.2"),
    ("^0.2", "0.2.0 0.2.9", "0.3.0"),
    ("^0.0.3", "0.0.3", "0.0.4 0.1.0"),
    ("^0.0", "0.0.0 0.0.9", "0.1.0"),
    ("^0", "0.0.0 0.9.9", "1.0.0"),
    ("1.2 - 1.4", "1.2.0 1.4.9", "1.5.0 1.1.0"),
    ("1.2.0 - 1.4.5", "1.2.0 1.4.5", "1.4.6"),
    (">=1.2, <2", "1.2.0 1.9.9", "2.0.0 1.1.0"),
    (">=1.2 <2 !=1.5.0", "1.4.0", "1.5.0 2.0.0"),
    ("^1 || ^3", "1.1.0 3.1.0", "2.0.0 4.0.0"),
    (">=1.0.0-0", "1.0.0-rc1 1.0.0 2.0.0-beta.1", "0.9.0"),
    ("^1.0.0-rc.1", "1.0.0-rc.2 1.0.0 1.5.0", "1.0.0-beta.1 2.0.0"),
]


@pytest.mark.parametrize(("text", "inside", "outside"), TABLE)
def test_a_range_holds_what_it_means(text: str, inside: str, outside: str) -> None:
    found = range_of(text)
    assert found
    held = {
        name
        for name in f"{inside} {outside}".split()
        if (version := version_of(name)) and found.holds(version)
    }
    assert held == set(inside.split())


@pytest.mark.parametrize(
    "text", ["main", "", "release/1.x/", "1.2.3.4", ">", ">=", "1.2 -", "^^1", "v", "feature-x", "||"]
)
def test_what_is_no_range_is_none(text: str) -> None:
    assert range_of(text) is None


@pytest.mark.parametrize(
    ("text", "expected"), [("1.x", True), ("^1", True), ("v1.2.3", False), ("1.2", False)]
)
def test_one_version_is_a_name_and_no_range(text: str, expected: bool) -> None:  # noqa: FBT001 - a table
    assert is_range(text) == expected


def test_pre_releases_come_before_their_release_and_sort_as_semver_says() -> None:
    order = (
        "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.0.1 1.10.0"
    )
    versions = [version_of(name) for name in order.split()]
    assert sorted(versions, key=lambda version: version.key() if version else ()) == versions


def test_the_newest_is_chosen_among_names_with_the_prefix() -> None:
    tags = ("v1.2.0", "v1.10.0", "v2.0.0", "nightly", "web-1.3.0", "web-9.0.0", "v1.11.0-rc1")
    found = range_of("^1")
    assert found
    assert newest(found, tags) == "v1.10.0"
    assert newest(found, tags, prefix="web-") == "web-1.3.0"
    assert newest(found, tags, prefix="api-") is None


@given(st.text("0123456789.xX*v-+~^<>=!|, ab", max_size=30))
def test_any_text_is_a_range_or_none(text: str) -> None:
    found = range_of(text)
    if found:
        newest(found, ["1.0.0", "v0.1.2-rc.1"])
