"""One source or several: how they are recorded, what their revisions are, and what cannot be meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.app.appsources import (
    MOST_SOURCES,
    AppSource,
    AppSources,
    check_sources,
    follower_of,
    joined,
    lent_to,
    recorded,
    revisions_in,
    short,
    source_reports,
    sources_in,
    unit_behind,
)
from trimtab.errors import InvalidSpec
from trimtab.sources.rendering.specs import FileParameter, Helm, Kustomize, SourceSpec

VALUES = AppSource(repo_url="v", target_revision="main", ref="values")
PLAIN = AppSource(repo_url="p", spec=SourceSpec(path="live"))


def chart(*files: str, ref: str = "", parameter: str = "") -> AppSource:
    parameters = (FileParameter(name="a", path=parameter),) if parameter else ()
    helm = Helm(value_files=files, file_parameters=parameters)
    return AppSource(repo_url="c", target_revision="^1", ref=ref, spec=SourceSpec(chart="web", helm=helm))


def test_commits_are_shortened_one_by_one_and_nothing_else_is() -> None:
    one, other = "ab12" * 10, "cd34" * 10
    assert short(f"{one},1.4.2-a-very-long-version,{other},files:0123456789ab") == (
        "ab12ab12ab,1.4.2-a-very-long-version,cd34cd34cd,files:0123456789ab"
    )
    assert short("") == ""


def test_one_source_is_recorded_as_it_always_was() -> None:
    record = {"repoURL": "p", "spec": {**recorded(PLAIN)["spec"]}}
    assert recorded(AppSources((PLAIN,))) == recorded(PLAIN) == record
    assert sources_in({"repoURL": "p", "spec": {"path": "live"}}) == AppSources((PLAIN,))


def test_several_are_recorded_as_a_list_and_read_again() -> None:
    several = AppSources((chart("$values/a.yaml"), VALUES, PLAIN))
    assert sources_in(recorded(several)) == several
    assert str(several) == "chart web of c at ^1; v at main, as $values; p at HEAD, live"


@pytest.mark.parametrize("record", [{"sources": []}, {"sources": 1}, {"repoURL": 1}, None])
def test_a_record_that_cannot_be_read_says_so(record: object) -> None:
    with pytest.raises(InvalidSpec, match="app web: its"):
        sources_in(record, "app web")


def test_a_ref_without_path_and_chart_only_lends_and_the_first_that_renders_is_meant() -> None:
    several = AppSources((VALUES, chart(ref="own"), PLAIN))
    assert [each.renders for each in several.entries] == [False, True, True]
    assert (several.first, several.main) == (1, chart(ref="own"))
    assert several.with_main(PLAIN) == AppSources((VALUES, PLAIN, PLAIN))
    assert not several.is_local
    assert AppSources((PLAIN, AppSource(folder="/a"))).is_local


REVISIONS = st.text(alphabet="0123456789abcdef.-+:files", min_size=1)


@given(st.lists(REVISIONS, min_size=1, max_size=4))
def test_what_is_joined_comes_apart_again(revisions: list[str]) -> None:
    sources = AppSources((PLAIN,) * len(revisions))
    assert revisions_in(joined(revisions), sources, "x") == tuple(revisions)
    assert [each["revision"] for each in source_reports(sources, joined(revisions))] == revisions


def test_one_revision_alone_is_meant_for_the_first_that_is_rendered() -> None:
    several = AppSources((VALUES, chart(), PLAIN))
    assert revisions_in("v2", several, "x") == ("", "v2", "")
    assert revisions_in("", several, "x") == ("", "", "")
    assert revisions_in(">=1, <2", AppSources((chart(),)), "x") == (">=1, <2",)
    assert revisions_in(">=1, <2", AppSources((VALUES, chart())), "x") == ("", ">=1, <2")
    with pytest.raises(InvalidSpec, match="a,b names 2 revisions, and it has 3 sources"):
        revisions_in("a,b", several, "x")
    assert [each["revision"] for each in source_reports(several, "a,b")] == ["", "", ""]


def test_whoever_follows_is_known_by_the_unit() -> None:
    followers = [
        follower_of(unit_id, number) for unit_id in ("shop", "shop/1", "shop-1") for number in range(12)
    ]
    assert len(set(followers)) == len(followers)
    assert list(dict.fromkeys(map(unit_behind, followers))) == ["shop", "shop/1", "shop-1"]
    assert follower_of("shop", 0) == "shop"


@pytest.mark.parametrize(
    ("sources", "complaint"),
    [
        ((VALUES,), "nothing would be rendered"),
        ((PLAIN,) * (MOST_SOURCES + 1), "more than 32 sources"),
        ((AppSource(repo_url="https://me:opensesame@git.example/a"),), "its source has a password in its"),
        ((PLAIN, VALUES, VALUES), "source 2 has the ref values, and so has another"),
        ((PLAIN, AppSource(repo_url="v", ref="a/b")), "source 2 has the ref 'a/b'"),
        ((chart("$vals/a.yaml"), VALUES), r"source 1 names a file of \$vals, and no source has this ref"),
        ((chart("$vals/a.yaml"),), r"its source names a file of \$vals"),
        ((chart(parameter="$vals/a"), VALUES), r"names a file of \$vals"),
        ((chart("a.yaml", "$values/a/../../b"), VALUES), r"names \$values/a/../../b, which leads out"),
        (
            (PLAIN, AppSource(repo_url="v", ref="v", spec=SourceSpec(kustomize=Kustomize()))),
            "source 2 has a ref and neither path nor chart",
        ),
    ],
)
def test_sources_that_cannot_be_meant_together_are_refused(
    sources: tuple[AppSource, ...], complaint: str
) -> None:
    with pytest.raises(InvalidSpec, match=complaint):
        check_sources(AppSources(sources), "app web")


def test_a_password_in_an_address_is_shown_to_nobody() -> None:
    for url in ("https://me:open@sesame@git.example/a", "https://:opensesame@git.example/a"):
        assert str(AppSource(repo_url=url)) == "https://git.example/a at HEAD"
    assert str(AppSource(repo_url="ssh://git@git.example/a:b")) == "ssh://git@git.example/a:b at HEAD"


def test_files_may_be_borrowed_from_others_and_from_oneself() -> None:
    own = chart("$own/a.yaml", "b.yaml", "$values/c/../a.yaml", parameter="$values/d", ref="own")
    check_sources(AppSources((own, VALUES)), "app web")
    assert lent_to(own.spec) == ("own", "values")
    assert lent_to(PLAIN.spec) == ()
