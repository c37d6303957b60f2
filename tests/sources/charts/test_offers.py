"""What an index of charts offers, and which version is meant."""

from __future__ import annotations

import pytest

from trimtab.errors import InvalidSpec, SourceRefused
from trimtab.sources.charts.offers import Offer, chosen, is_exact, offers_in

DIGEST = "ab" * 32
INDEX = f"""
apiVersion: v1
generated: "2026-01-01T00:00:00Z"
entries:
  web:
  - {{version: 1.2.0, urls: [web-1.2.0.tgz], digest: {DIGEST}}}
  - {{version: 1.1.0, urls: ["https://cdn.example/web-1.1.0.tgz"], digest: "sha256:{DIGEST}"}}
  - {{version: 1.0.0, urls: [web-1.0.0.tgz], digest: md5-of-old}}
  - {{version: 0.9.0, urls: []}}
  - {{version: 2, urls: [x.tgz]}}
  - nonsense
  none: []
  broken: text
"""


def test_an_index_offers_what_can_be_fetched() -> None:
    assert offers_in(INDEX.encode(), "repo", 1 << 20) == {
        "web": [
            Offer(version="1.2.0", url="web-1.2.0.tgz", digest=DIGEST),
            Offer(version="1.1.0", url="https://cdn.example/web-1.1.0.tgz", digest=DIGEST),
            Offer(version="1.0.0", url="web-1.0.0.tgz"),
        ],
        "none": [],
    }


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{now}: &{now} [{','.join([f'*{before}'] * 9)}]\n"
    for before, now in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize("index", ["", "[]", "entries: []", "<html>not found</html>", "{", "\xff", BOMB])
def test_what_is_no_index_is_refused(index: str) -> None:
    with pytest.raises(SourceRefused):
        offers_in(index.encode("latin-1"), "repo", 1 << 20)


def test_an_index_that_is_too_large_is_refused_unread() -> None:
    with pytest.raises(SourceRefused):
        offers_in(INDEX.encode(), "repo", 100)


VERSIONS = ("1.0.0", "v1.1.0", "1.2.0", "1.2.1-rc.1", "2.0.0", "2.1.0+build", "no version")


@pytest.mark.parametrize(
    ("target", "version"),
    [
        ("1.2.0", "1.2.0"),
        ("1.1.0", "v1.1.0"),
        ("1.2", "1.2.0"),
        ("1", "1.2.0"),
        ("^1.0", "1.2.0"),
        ("~1.2-0", "1.2.1-rc.1"),
        ("1.2.1-rc.1", "1.2.1-rc.1"),
        (">=1 <2", "1.2.0"),
        ("*", "2.1.0+build"),
        ("", "2.1.0+build"),
        ("HEAD", "2.1.0+build"),
        ("2.1.0+build", "2.1.0+build"),
        ("^3", None),
        ("1.2.2", None),
    ],
)
def test_the_highest_version_in_a_range_is_meant(target: str, version: str | None) -> None:
    assert chosen(target, VERSIONS, "web") == version


@pytest.mark.parametrize("target", ["main", "../../etc", "1.2.3; rm", "latest", "-1"])
def test_what_is_no_version_is_refused(target: str) -> None:
    with pytest.raises(InvalidSpec):
        chosen(target, VERSIONS, "web")


def test_only_whole_versions_are_exact() -> None:
    assert [is_exact(each) for each in ("1.2.3", "v1.2.3", "1.2.3-rc.1+b", "1.2", "^1.2.3", "*", "")] == [
        True,
        True,
        True,
        False,
        False,
        False,
        False,
    ]
