"""Which commit a target means."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trimtab.errors import InvalidSpec
from trimtab.sources.repositories.refs import (
    Absent,
    Chosen,
    Commit,
    Head,
    Listing,
    Named,
    Unlisted,
    Versions,
    choice,
    listing_in,
    patterns_of,
    target_of,
    target_text,
)

A, B, C, D = ("a" * 40, "b" * 40, "c" * 40, "d1e2f3a" + "0" * 33)
OUTPUT = f"""ref: refs/heads/main\tHEAD
{A}\tHEAD
{A}\trefs/heads/main
{B}\trefs/heads/feature/x
{D}\trefs/tags/v1.0.0
{C}\trefs/tags/v1.1.0
{B}\trefs/tags/v1.1.0^{{}}
{B}\trefs/heads/v1.0.0
""".encode()
LISTING = listing_in(OUTPUT)


def test_a_listing_follows_annotated_tags_to_their_commit() -> None:
    assert LISTING.refs["refs/tags/v1.1.0"] == B
    assert LISTING.head == "refs/heads/main"


MEANT = {
    "": Chosen(commit=A, ref="refs/heads/main"),
    "HEAD": Chosen(commit=A, ref="refs/heads/main"),
    "main": Chosen(commit=A, ref="refs/heads/main"),
    "feature/x": Chosen(commit=B, ref="refs/heads/feature/x"),
    "refs/tags/v1.0.0": Chosen(commit=D, ref="refs/tags/v1.0.0"),
    "v1.0.0": Chosen(commit=B, ref="refs/heads/v1.0.0"),
    "v1.1.0": Chosen(commit=B, ref="refs/tags/v1.1.0"),
    "^1": Chosen(commit=B, ref="refs/tags/v1.1.0"),
    "~1.0": Chosen(commit=D, ref="refs/tags/v1.0.0"),
    "d1e2f3a": Chosen(commit=D),
    "e" * 40: Unlisted(digits="e" * 40),
    A: Chosen(commit=A),
    "eeeeeee": Unlisted(digits="eeeeeee"),
}


@pytest.mark.parametrize("text", MEANT)
def test_a_target_means_one_commit(text: str) -> None:
    assert choice(target_of(text), LISTING) == MEANT[text]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("gone", 'no branch or tag "gone"'),
        ("^2", "no tag is a version in '^2'"),
        ("eeeeee", "no branch or tag"),
    ],
)
def test_what_is_absent_is_told_with_a_remedy(text: str, reason: str) -> None:
    found = choice(target_of(text), LISTING)
    assert isinstance(found, Absent)
    assert reason in found.reason
    assert found.remedy


def test_a_missing_branch_is_told_together_with_the_default_one() -> None:
    found = choice(Named("master"), LISTING)
    assert isinstance(found, Absent)
    assert found.remedy == 'Mend the name; the default branch is "main"'


def test_an_empty_repository_is_told_as_such() -> None:
    found = choice(Head(), Listing(refs={}))
    assert found == Absent(reason="the repository is empty", remedy="Push a first commit")


def test_a_head_without_a_branch_is_told() -> None:
    assert isinstance(choice(Head(), Listing(refs={"refs/heads/x": A})), Absent)


def test_a_shortened_id_that_fits_several_commits_is_not_guessed() -> None:
    listing = Listing(refs={"refs/heads/a": "abcdef0" + "1" * 33, "refs/heads/b": "abcdef0" + "2" * 33})
    assert choice(Named("abcdef0"), listing) == Unlisted(digits="abcdef0")


HOSTILE = [
    "-",
    "--upload-pack=id",
    "-oProxyCommand=id",
    "a b",
    "a\nb",
    "a\0b",
    "a..b",
    "a:b",
    "a^{/x}",
    "main~1",
    "main@{1}",
    "@",
    "a?b",
    "a[b",
    "a\\b",
    "/a",
    "a/",
    "a//b",
    ".a",
    "a/.b",
    "a.lock",
    "a.",
    "+main",
    "x" * 300,
    "a\u202eb",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_no_ref_can_be_called_is_refused_before_git_hears_it(text: str) -> None:
    if text == "+main":  # a lawful name, odd as it is; refspecs are built from ids and full names
        assert target_of(text) == Named("+main")
        return
    with pytest.raises(InvalidSpec):
        target_of(text)


def test_a_tag_prefix_must_be_able_to_begin_a_tag() -> None:
    assert isinstance(target_of("^1", tag_prefix="web-"), Versions)
    for prefix in ("--x", "a b", "a*", "a\n"):
        with pytest.raises(InvalidSpec):
            target_of("^1", tag_prefix=prefix)


def test_a_remote_is_asked_for_no_more_than_is_followed() -> None:
    targets = [target_of(text, tag_prefix="web-") for text in ("HEAD", "main", A, "^1", "refs/tags/x")]
    assert patterns_of(targets) == (
        "HEAD",
        "refs/heads/main",
        "refs/tags/main",
        "refs/tags/main^{}",
        "refs/tags/web-*",
        "refs/tags/x",
        "refs/tags/x^{}",
    )


@pytest.mark.parametrize("text", ["HEAD", "main", A, "^1.2 || 3.x"])
def test_a_target_is_told_as_it_was_written(text: str) -> None:
    assert target_text(target_of(text)) == text


@given(st.binary(max_size=300))
def test_any_answer_of_a_remote_is_a_listing(output: bytes) -> None:
    listing = listing_in(output)
    assert all(len(id_) == 40 for id_ in listing.refs.values())


@example([A, "\t", "-x", "^{}"])
@given(
    st.lists(
        st.sampled_from(["ref: ", A, "\t", "HEAD", "refs/heads/x", "^{}", "\n", "-x", "\0"]), max_size=12
    )
)
def test_a_lying_answer_names_nothing_that_git_would_not(words: list[str]) -> None:
    listing = listing_in("".join(words).encode())
    assert not any(name.startswith("-") or "\0" in name for name in (*listing.refs, listing.head))


def test_a_full_commit_id_is_a_commit() -> None:
    assert target_of(A) == Commit(A)
