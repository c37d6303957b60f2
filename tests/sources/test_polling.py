"""Looking out for news: once for all, at a rhythm, and again after failures."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web
from msgspec import structs

from tests.sources.conftest import Opening, wanted
from tests.sources.following import Audience
from tests.sources.githost import basic_header, git_host
from tests.sources.upstream import Upstream
from trimtab.errors import GitUnreachable, TrimtabError
from trimtab.kube.auth.redaction import Secret
from trimtab.sources import GitTree
from trimtab.sources.hints.changes import Change
from trimtab.sources.repositories.addresses import address_of
from trimtab.sources.repositories.complaints import CredentialRefused, RevisionMissing
from trimtab.sources.repositories.credentials import Basic, Credential
from trimtab.sources.repositories.revisions import GitRequest
from trimtab.tasks import ManualClock, WorkState

INTERVAL = 180


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    return Upstream(tmp_path / "upstream" / "app.git")


def password(text: str) -> Credential:
    return Credential(login=Basic(username="me", password=Secret(text)))


def never() -> float:
    return 0.0


async def test_every_talk_with_a_server_is_told_with_its_outcome(opened: Opening, upstream: Upstream) -> None:
    told = list[GitRequest]()
    upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, opened(told=told.append) as repositories:
        await repositories.fetch(wanted(f"{host.url}/app.git"))
        await repositories.fetch(wanted(f"{host.url}/app.git"))
        with pytest.raises(TrimtabError):
            await repositories.fetch(wanted(f"{host.url}/none.git"))
    assert [(each.type, each.failed) for each in told] == [
        ("ls-remote", False),
        ("fetch", False),
        ("ls-remote", True),
    ]


async def test_a_hundred_consumers_cause_one_listing_per_interval(
    opened: Opening, upstream: Upstream
) -> None:
    clock, audience = ManualClock(), Audience()
    commits = [upstream.commit({"a": "0"})]
    consumers = [f"app-{number}" for number in range(100)]
    async with git_host(upstream.path.parent) as host, opened(clock=clock, chance=never) as repositories:
        for number, consumer in enumerate(consumers):
            target = ("main", "HEAD", "refs/heads/main")[number % 3]
            repositories.follow(consumer, wanted(f"{host.url}/app.git", target=target), tell=audience.tell)
        for turn in range(1, 4):
            await audience.until_told(consumers, times=turn)
            assert (host.count("ls-refs"), host.fetches()) == (turn, turn)
            assert {audience.commit(each) for each in consumers} == {commits[-1]}
            commits.append(upstream.commit({"a": str(turn)}))
            await clock.advance(INTERVAL)


async def test_nothing_new_costs_one_listing_and_no_fetch(opened: Opening, upstream: Upstream) -> None:
    clock, audience = ManualClock(), Audience()
    commit = upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, opened(clock=clock, chance=never) as repositories:
        repositories.follow("web", wanted(f"{host.url}/app.git"), tell=audience.tell)
        await audience.until_at(commit)
        await clock.advance(INTERVAL)
        await host.until("ls-refs", 2)
        assert host.fetches() == 1
        assert len(audience.heard["web"]) == 1


async def test_looks_are_spread_by_chance(opened: Opening, upstream: Upstream) -> None:
    clock, audience = ManualClock(), Audience()
    commit = upstream.commit({"a": "0"})
    async with (
        git_host(upstream.path.parent) as host,
        opened(clock=clock, chance=lambda: 0.5) as repositories,
    ):
        repositories.follow("web", wanted(f"{host.url}/app.git"), tell=audience.tell)
        await audience.until_at(commit)
        [waiting] = repositories.snapshot().work
        assert waiting.until
        assert waiting.until - waiting.since == timedelta(seconds=INTERVAL * 1.05)


async def test_a_deleted_branch_leaves_the_last_good_revision_in_force_and_says_so(
    opened: Opening, upstream: Upstream
) -> None:
    clock, audience = ManualClock(), Audience()
    upstream.commit({"a": "0"})
    commit = upstream.commit({"a": "1"}, branch="feature")
    async with git_host(upstream.path.parent) as host, opened(clock=clock, chance=never) as repositories:
        repositories.follow("web", wanted(f"{host.url}/app.git", target="feature"), tell=audience.tell)
        await audience.until_at(commit)
        upstream.git("update-ref", "-d", "refs/heads/feature")
        await clock.advance(INTERVAL)
        standing = await audience.until_wrong()
        assert isinstance(standing.error, RevisionMissing)
        assert standing.revision
        assert standing.revision.commit == commit
        assert standing.message.endswith(
            f'there is no branch or tag "feature". Mend the name; the default branch is "main". '
            f"Revision {commit[:8]} stays in force."
        )
        again = upstream.commit({"a": "2"}, branch="feature")
        await clock.advance(INTERVAL)
        await audience.until_at(again)
        assert audience.last().failing_since is None


async def test_a_renamed_default_branch_is_followed_by_those_who_want_the_default(
    opened: Opening, upstream: Upstream
) -> None:
    clock, audience = ManualClock(), Audience()
    commit = upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, opened(clock=clock, chance=never) as repositories:
        repositories.follow("web", wanted(f"{host.url}/app.git", target="HEAD"), tell=audience.tell)
        repositories.follow("old", wanted(f"{host.url}/app.git", target="main"), tell=audience.tell)
        await audience.until_at(commit)
        upstream.git("branch", "--move", "main", "trunk")
        later = upstream.commit({"a": "1"}, branch="trunk")
        await clock.advance(INTERVAL)
        await audience.until_at(later)
        standing = await audience.until_wrong("old")
        assert 'the default branch is "trunk"' in standing.message
        assert standing.revision
        assert standing.revision.commit == commit


async def test_a_force_push_is_followed_and_the_old_revision_can_still_be_read(
    opened: Opening, upstream: Upstream
) -> None:
    clock, audience = ManualClock(), Audience()
    old = upstream.commit({"a": "old"})
    async with git_host(upstream.path.parent) as host, opened(clock=clock, chance=never) as repositories:
        repositories.follow("web", wanted(f"{host.url}/app.git"), tell=audience.tell)
        await audience.until_at(old)
        new = upstream.orphan({"a": "new"})
        await clock.advance(INTERVAL)
        await audience.until_at(new)
        mirror = repositories.standing("web").revision
        assert mirror
        assert [GitTree(mirror.mirror, each).read("a") for each in (old, new)] == [b"old", b"new"]


async def test_an_unreachable_host_is_tried_ever_more_rarely_and_then_found_again(
    opened: Opening, upstream: Upstream
) -> None:
    clock, audience = ManualClock(), Audience()
    first = upstream.commit({"a": "0"})
    async with (
        git_host(upstream.path.parent) as host,
        opened(clock=clock, chance=lambda: 0.999) as repositories,
    ):
        repositories.follow("web", wanted(f"{host.url}/app.git"), tell=audience.tell)
        await audience.until_at(first)
        host.lie = broken
        asked = len(host.log)
        await clock.advance(INTERVAL * 1.1)
        standing = await audience.until_wrong()
        assert isinstance(standing.error, GitUnreachable)
        assert standing.revision
        assert standing.revision.commit == first
        [waiting] = repositories.snapshot().work
        assert (waiting.state, waiting.failures) == (WorkState.BACKING_OFF, 1)
        assert waiting.last_error == str(standing.error)
        host.lie = None
        second = upstream.commit({"a": "1"})
        assert len(host.log) == asked + 1
        await clock.advance(10)
        await audience.until_at(second)


async def broken(request: web.Request) -> web.StreamResponse:
    return web.Response(status=502)


async def test_wrong_credentials_are_told_and_right_ones_taken(opened: Opening, upstream: Upstream) -> None:
    clock, audience = ManualClock(), Audience()
    commit = upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, opened(clock=clock, chance=never) as repositories:
        host.welcome = {basic_header("me", "right")}
        url = f"{host.url}/app.git"
        repositories.follow("web", wanted(url, password("wrong")), tell=audience.tell)
        standing = await audience.until_wrong()
        assert isinstance(standing.error, CredentialRefused)
        assert standing.error.remedy == "Give a credential that may read it"
        repositories.follow("web", wanted(url, password("right")), tell=audience.tell)
        await audience.until_at(commit)


async def test_a_tenant_reads_what_another_fetched_only_with_a_credential_that_opens_it(
    opened: Opening, upstream: Upstream
) -> None:
    clock, audience = ManualClock(), Audience()
    commit = upstream.commit({"secret": "theirs"})
    async with git_host(upstream.path.parent) as host, opened(clock=clock, chance=never) as repositories:
        host.welcome = {basic_header("me", "one"), basic_header("me", "two")}
        url = f"{host.url}/app.git"
        for name in ("one", "two", "three"):
            repositories.follow(name, wanted(url, password(name)), tell=audience.tell)
        repositories.follow("nobody", wanted(url), tell=audience.tell)
        repositories.follow("commit", wanted(url, password("three"), target=commit), tell=audience.tell)
        for name in ("three", "nobody", "commit"):
            standing = await audience.until_wrong(name)
            assert isinstance(standing.error, CredentialRefused)
            assert standing.revision is None
            assert commit[:8] not in standing.message or name == "commit"
        for name in ("one", "two"):
            await audience.until_at(commit, name)
        assert host.count("fetch") == 1
        with pytest.raises(CredentialRefused):
            await repositories.fetch(wanted(url, password("three"), target=commit))


async def test_a_credential_that_was_revoked_opens_nothing_any_more_though_others_go_on(
    opened: Opening, upstream: Upstream
) -> None:
    clock, audience = ManualClock(), Audience()
    first = upstream.commit({"a": "0"})
    settings = {"access_lasts": timedelta(seconds=2 * INTERVAL)}
    async with (
        git_host(upstream.path.parent) as host,
        opened(clock=clock, chance=never, settings=settings) as repositories,
    ):
        host.welcome = {basic_header("me", "one"), basic_header("me", "two")}
        url = f"{host.url}/app.git"
        for name in ("one", "two"):
            repositories.follow(name, wanted(url, password(name)), tell=audience.tell)
            await audience.until_at(first, name)
        host.welcome = {basic_header("me", "one")}
        second = upstream.commit({"a": "1"})
        for _ in range(3):
            await clock.advance(INTERVAL)
            await audience.until_at(second, "one")
        standing = await audience.until_wrong("two")
        assert isinstance(standing.error, CredentialRefused)


async def test_a_branch_that_comes_later_is_found_at_the_usual_rhythm(
    opened: Opening, upstream: Upstream
) -> None:
    clock, audience = ManualClock(), Audience()
    async with git_host(upstream.path.parent) as host, opened(clock=clock, chance=never) as repositories:
        repositories.follow("web", wanted(f"{host.url}/app.git", target="later"), tell=audience.tell)
        standing = await audience.until_wrong()
        assert "the repository is empty. Push a first commit." in standing.message
        upstream.commit({"a": "0"})
        await clock.advance(INTERVAL)
        await audience.until(lambda: "no branch or tag" in audience.last().message)
        commit = upstream.commit({"a": "1"}, branch="later")
        await clock.advance(INTERVAL)
        await audience.until_at(commit)


async def test_a_webhook_makes_the_look_come_sooner_and_only_for_those_it_concerns(
    opened: Opening, upstream: Upstream
) -> None:
    clock, audience = ManualClock(), Audience()
    first = upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, opened(clock=clock, chance=never) as repositories:
        url = f"{host.url}/app.git"
        repositories.follow("web", wanted(url, target="main", paths=("web",)), tell=audience.tell)
        repositories.follow("api", wanted(url, target="main", paths=("api",)), tell=audience.tell)
        await audience.until_at(first, "api")
        second = upstream.commit({"a": "1"})
        places = (address_of(url).place,)
        assert repositories.hint(Change(places=places, ref="refs/heads/other")).consumers == ()
        change = Change(places=places, ref="refs/heads/main", paths=("web/x.yaml",))
        assert repositories.hint(change).consumers == ("web",)
        for _ in range(100):
            repositories.hint(change)
        await clock.advance(5)
        await audience.until_at(second)
        assert host.count("ls-refs") == 2


@pytest.mark.parametrize("says", [True, False])
async def test_a_webhook_that_is_faster_than_its_host_is_heeded_until_the_commit_is_there(
    opened: Opening,
    upstream: Upstream,
    says: bool,  # noqa: FBT001 - whether the message names the commit
) -> None:
    clock, audience = ManualClock(), Audience()
    first = upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, opened(clock=clock, chance=never) as repositories:
        url = f"{host.url}/app.git"
        repositories.follow("web", wanted(url), tell=audience.tell)
        await audience.until_at(first)
        second = upstream.commit({"a": "1"})
        upstream.git("update-ref", "refs/heads/main", first)

        async def show_it_at_last(_request: web.Request) -> None:
            if host.count("ls-refs") == 4:
                upstream.git("update-ref", "refs/heads/main", second)

        host.lie = show_it_at_last
        await clock.advance(5)
        places = (address_of(url).place,)
        repositories.hint(Change(places=places, ref="refs/heads/main", after=second if says else ""))
        for listed, pause in enumerate((5, 10), start=2):
            await host.until("ls-refs", listed)
            await clock.advance(pause)
        await audience.until_at(second)
        assert host.count("ls-refs") == 4


async def test_a_webhook_that_is_never_followed_by_anything_costs_a_few_looks_and_no_more(
    opened: Opening, upstream: Upstream
) -> None:
    clock, audience = ManualClock(), Audience()
    first = upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, opened(clock=clock, chance=never) as repositories:
        url = f"{host.url}/app.git"
        repositories.follow("web", wanted(url), tell=audience.tell)
        await audience.until_at(first)
        await clock.advance(5)
        repositories.hint(Change(places=(address_of(url).place,), after="1" * 40))
        for listed in range(2, 7):
            await host.until("ls-refs", listed)
            await clock.advance(5 * 2 ** (listed - 2))
        assert host.count("ls-refs") == 6


async def test_a_credential_that_is_replaced_is_taken_up_by_all_who_follow_and_nothing_is_lost_meanwhile(
    opened: Opening, upstream: Upstream
) -> None:
    clock, audience = ManualClock(), Audience()
    first = upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, opened(clock=clock, chance=never) as repositories:
        host.welcome = {basic_header("me", "old")}
        url = f"{host.url}/app.git"
        old, new = wanted(url, password("old")), wanted(url, password("new"))
        for name in ("web", "api"):
            repositories.follow(name, old, tell=audience.tell)
            await audience.until_at(first, name)
        repositories.renew(lambda each: structs.replace(each, credentials=old.credentials))
        host.welcome = {basic_header("me", "new")}
        second = upstream.commit({"a": "1"})
        await clock.advance(INTERVAL)
        standing = await audience.until_wrong()
        assert standing.revision
        assert standing.revision.commit == first
        repositories.renew(lambda each: structs.replace(each, credentials=new.credentials))
        for name in ("web", "api"):
            await audience.until_at(second, name)
            assert {each.revision is None for each in audience.heard[name]} == {False}


async def test_who_follows_no_longer_is_looked_out_for_no_longer(opened: Opening, upstream: Upstream) -> None:
    clock, audience = ManualClock(), Audience()
    commit = upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, opened(clock=clock, chance=never) as repositories:
        repositories.follow("web", wanted(f"{host.url}/app.git"), tell=audience.tell)
        await audience.until_at(commit)
        repositories.unfollow("web")
        await clock.advance(INTERVAL * 2)
        assert host.count("ls-refs") == 1
        assert repositories.snapshot().work == ()
        assert repositories.standing("web").revision is None


async def test_what_was_in_force_before_a_restart_stays_though_the_host_is_gone(
    opened: Opening, upstream: Upstream
) -> None:
    clock, audience = ManualClock(), Audience()
    upstream.commit({"a": "0", ".gitmodules": ""})
    async with git_host(upstream.path.parent) as host:
        wish = wanted(f"{host.url}/app.git")
        async with opened() as repositories:
            revision = await repositories.fetch(wish)
        host.lie = broken
        async with opened(clock=clock, chance=never) as repositories:
            before = repositories.recall(wish, revision.commit)
            assert before == structs.replace(revision, ref="")
            assert repositories.recall(wish, "1" * 40) is None
            assert repositories.recall(structs.replace(wish, submodules=True), revision.commit) == before
            repositories.follow("web", wish, tell=audience.tell, in_force=before)
            standing = await audience.until_wrong()
            assert standing.revision == before
            assert standing.message.endswith(f"Revision {revision.commit[:8]} stays in force.")
            gone = structs.replace(revision, commit="1" * 40)
            repositories.follow("api", wish, tell=audience.tell, in_force=gone)
            assert repositories.standing("api").revision is None


async def test_a_revision_in_force_is_kept_though_its_branch_is_long_gone(
    opened: Opening, upstream: Upstream
) -> None:
    clock, audience = ManualClock(), Audience()
    upstream.commit({"a": "0"})
    old = upstream.commit({"a": "old"}, branch="feature")
    settings = {"keep_revisions": timedelta(days=2), "poll_every": timedelta(hours=12)}
    async with (
        git_host(upstream.path.parent) as host,
        opened(clock=clock, chance=never, settings=settings) as repositories,
    ):
        url = f"{host.url}/app.git"
        repositories.follow("old", wanted(url, target="feature"), tell=audience.tell)
        repositories.follow("web", wanted(url, target="main"), tell=audience.tell)
        await audience.until_at(old, "old")
        upstream.orphan({"a": "x"}, branch="feature")
        upstream.git("update-ref", "-d", "refs/heads/feature")
        for turn in range(8):
            commit = upstream.commit({"a": str(turn)})
            await clock.advance(timedelta(hours=12).total_seconds())
            await audience.until_at(commit)
        standing = repositories.standing("old")
        assert standing.revision
        assert GitTree(standing.revision.mirror, old).read("a") == b"old"


async def test_two_targets_of_one_repository_do_not_make_each_other_be_listed_again(
    opened: Opening, upstream: Upstream
) -> None:
    for branch in ("one", "two"):
        upstream.commit({"a": branch}, branch=branch)
    async with git_host(upstream.path.parent) as host, opened(clock=ManualClock()) as repositories:
        for target in ("one", "two", "one", "two", "refs/heads/one"):
            await repositories.fetch(wanted(f"{host.url}/app.git", target=target))
        assert host.count("ls-refs") == 2
        for number in range(100):
            upstream.git("update-ref", f"refs/heads/b{number}", upstream.tip("one"))
        for number in range(30):
            with suppress(RevisionMissing):
                await repositories.fetch(wanted(f"{host.url}/app.git", target=f"b{number}"))
        assert host.count("ls-refs") < 30


async def test_who_comes_while_others_are_looked_after_gets_nothing_by_their_credential(
    opened: Opening, upstream: Upstream
) -> None:
    audience, asked, go_on = Audience(), asyncio.Event(), asyncio.Event()
    commit = upstream.commit({"secret": "theirs"})

    async def wait(request: web.Request) -> web.StreamResponse | None:
        asked.set()
        await go_on.wait()
        return None

    async with git_host(upstream.path.parent) as host, opened() as repositories:
        host.welcome, host.lie = {basic_header("me", "right")}, wait
        url = f"{host.url}/app.git"
        repositories.follow("mine", wanted(url, password("right")), tell=audience.tell)
        await asked.wait()
        repositories.follow("thief", wanted(url, password("wrong")), tell=audience.tell)
        go_on.set()
        await audience.until_at(commit, "mine")
        standing = await audience.until_wrong("thief")
        assert isinstance(standing.error, CredentialRefused)
        assert [each.revision for each in audience.heard["thief"]] == [None]


async def test_a_credential_that_breaks_the_connection_stops_nobody_else(
    opened: Opening, upstream: Upstream
) -> None:
    clock, audience = ManualClock(), Audience()
    first = upstream.commit({"a": "0"})

    async def break_for_one(request: web.Request) -> web.StreamResponse | None:
        bad = request.headers.get("Authorization") == basic_header("me", "bad")
        return web.Response(status=502) if bad else None

    async with git_host(upstream.path.parent) as host, opened(clock=clock, chance=never) as repositories:
        host.lie = break_for_one
        url = f"{host.url}/app.git"
        for name in ("bad", "good"):
            repositories.follow(name, wanted(url, password(name)), tell=audience.tell)
        await audience.until_at(first, "good")
        standing = await audience.until_wrong("bad")
        assert isinstance(standing.error, GitUnreachable)
        second = upstream.commit({"a": "1"})
        await clock.advance(INTERVAL)
        await audience.until_at(second, "good")


async def test_who_turns_to_another_repository_takes_no_revision_along(
    opened: Opening, upstream: Upstream
) -> None:
    audience = Audience()
    commit = upstream.commit({"a": "0"})
    async with git_host(upstream.path.parent) as host, opened() as repositories:
        repositories.follow("web", wanted(f"{host.url}/app.git"), tell=audience.tell)
        await audience.until_at(commit)
        revision = audience.last().revision
        repositories.follow("web", wanted(f"{host.url}/app.git", target="main"), tell=audience.tell)
        assert repositories.standing("web").revision == revision
        repositories.follow("web", wanted(f"{host.url}/other.git"), tell=audience.tell, in_force=revision)
        assert repositories.standing("web").revision is None
