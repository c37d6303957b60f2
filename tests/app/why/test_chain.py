"""Which findings count, which comes first, and what stands between the app and the cause."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trimtab.app.why.causes import CAUSES
from trimtab.app.why.chain import Answer, Chain, Link, answer_from
from trimtab.app.why.facts import Facts, Seen
from trimtab.app.why.showing import answer_json, answer_text
from trimtab.engine.health import Health, HealthStatus, health_of
from trimtab.engine.units import Destination, SyncUnit, UnitStatus
from trimtab.errors import GitUnreachable
from trimtab.resources.keys import ResourceKey

PAGE = Path(__file__).parents[3] / "docs" / "why.md"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WEB = ResourceKey("apps", "Deployment", "shop", "web")
PROGRESSING = Health(HealthStatus.PROGRESSING, "0 of 2 updated replicas are available")


def pod(
    called: str,
    reason: str = "ImagePullBackOff",
    parent: ResourceKey | None = WEB,
    *,
    message: str = "no",
    name: str = "main",
) -> Seen:
    waiting = {"waiting": {"reason": reason, "message": message}}
    image = "registry.example/web:gone" if name == "web" else "web:1"
    statuses = [{"name": name, "image": image, "state": waiting}]
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T11:57:00Z"}
    manifest: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": called},
        "spec": {"restartPolicy": "Always"},
        "status": {"phase": "Pending", "containerStatuses": statuses, "conditions": [ready]},
    }
    key = ResourceKey("", "Pod", "shop", called)
    return Seen(key=key, uid=called, manifest=manifest, parent=parent, health=health_of(manifest))


def root(key: ResourceKey = WEB, health: Health | None = PROGRESSING) -> Seen:
    return Seen(key=key, uid=key.name, manifest={}, health=health)


def facts(*seen: Seen, **more: Any) -> Facts:
    return Facts(about="app shop", now=NOON, family={each.key: each for each in seen}, **more)


def told(answer: Answer) -> list[tuple[str, int]]:
    return [(chain.cause, chain.more) for chain in answer.chains]


def test_what_only_passes_on_a_deeper_cause_is_not_told_beside_it() -> None:
    assert told(answer_from(facts(root(), pod("a")))) == [("image-pull", 0)]
    assert told(answer_from(facts(root()))) == [("unwell", 0)]
    other = root(ResourceKey("apps", "Deployment", "shop", "other"))
    assert told(answer_from(facts(root(), pod("a"), other))) == [("image-pull", 0), ("unwell", 0)]


def test_the_same_cause_below_one_root_is_told_once_and_counted() -> None:
    answer = answer_from(facts(root(), pod("a"), pod("b"), pod("c")))
    assert told(answer) == [("image-pull", 2)]
    assert answer.sentence == "Pod shop/a cannot pull the image web:1 of container main."


def test_an_object_that_suffers_twice_from_one_cause_is_counted_once() -> None:
    both = pod("a")
    again = {**both.manifest["status"]["containerStatuses"][0], "name": "other"}
    both.manifest["status"]["containerStatuses"].append(again)
    assert told(answer_from(facts(root(), both))) == [("image-pull", 0)]
    assert told(answer_from(facts(root(), both, pod("b")))) == [("image-pull", 1)]


def test_causes_nearer_to_the_commit_come_first() -> None:
    gone = GitUnreachable("host git.example", "its name cannot be resolved", "Mend the name")
    answer = answer_from(facts(root(), pod("a"), trouble=gone, source="https://git.example/shop.git"))
    assert told(answer) == [("fetch-failed", 0), ("image-pull", 0)]
    assert answer.sentence == "The source https://git.example/shop.git cannot be fetched."


def test_an_object_is_explained_by_what_is_above_and_below_it_alone() -> None:
    family = (root(), pod("a"), pod("b", "CrashLoopBackOff"))
    assert told(answer_from(facts(*family, asked=pod("a").key))) == [("image-pull", 0)]
    assert told(answer_from(facts(*family, asked=WEB))) == [("image-pull", 0), ("crash-loop", 0)]


def test_owners_that_name_each_other_in_a_ring_do_not_trap_us() -> None:
    ring = Seen(key=WEB, uid="web", manifest={}, parent=pod("a").key, health=PROGRESSING)
    assert told(answer_from(facts(ring, pod("a")))) == [("image-pull", 0)]


def test_manifests_of_any_shape_are_read() -> None:
    for status in ({}, {"containerStatuses": "none"}, {"conditions": [{"type": 1}]}, None):
        odd = Seen(key=pod("a").key, uid="a", manifest={"status": status, "metadata": None})
        assert answer_from(facts(odd)).well


WORDS = st.sampled_from(
    [
        "",
        "Failed",
        "Pending",
        "Running",
        "True",
        "False",
        "Ready",
        "CrashLoopBackOff",
        "ErrImagePull",
        "\x1b[2J",
        "2026-01-01T11:57:00Z",
    ]
)
FIELDS = st.sampled_from(
    (
        *("deletionTimestamp", "finalizers", "phase", "conditions", "containerStatuses", "state"),
        *("waiting", "terminated", "reason", "type", "name"),
    )
)
ANYTHING = st.recursive(
    WORDS | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=20,
)


@given(status=ANYTHING, metadata=ANYTHING)
def test_whatever_a_cluster_shows_there_is_an_answer_that_can_be_printed(status: Any, metadata: Any) -> None:
    odd = Seen(key=pod("a").key, uid="a", manifest={"status": status, "metadata": metadata}, parent=WEB)
    answer = answer_from(facts(root(), odd))
    assert not answer.well
    assert all(line.isprintable() for line in answer_text(answer).splitlines())


def test_every_cause_has_a_meaning_and_weak_ones_come_after_what_they_pass_on() -> None:
    assert all(cause.meaning for cause in CAUSES)
    weak = [cause.name for cause in CAUSES if cause.weak]
    later = ["not-synced", "unwell", "sync-failed", "odd-words", "unexplained"]
    assert weak == ["pod-failed", "wave-waits", *later]


LINKS = (
    Link(object="app shop", what="is Synced and Progressing at 4f2c", since=NOON - timedelta(minutes=3)),
    Link(object="Pod shop/a", what="keeps crashing", evidence="exit\x1b[2J code 1\nand more"),
)
ANSWER = Answer(
    about="app shop",
    sentence="Pod shop/a keeps crashing.",
    now=NOON,
    chains=(
        Chain(
            cause="crash-loop", sentence="Pod shop/a keeps crashing.", remedy="Read on", links=LINKS, more=1
        ),
        Chain(cause="unwell", sentence="Job b is sad.", remedy="", links=LINKS[:1]),
    ),
)


def test_people_read_the_sentence_first_and_nothing_that_commands_their_terminal() -> None:
    assert answer_text(ANSWER).splitlines() == [
        "Pod shop/a keeps crashing.",
        "",
        "app shop is Synced and Progressing at 4f2c (for 3 min)",
        "  because Pod shop/a keeps crashing",
        r"    exit\x1b[2J code 1 and more",
        "    and 1 more like it",
        "    What to do: Read on.",
        "",
        "Also: Job b is sad.",
        "",
        "app shop is Synced and Progressing at 4f2c (for 3 min)",
    ]


def test_programs_read_every_link() -> None:
    told_json = answer_json(ANSWER)
    assert (told_json["well"], [each["cause"] for each in told_json["causes"]]) == (
        False,
        ["crash-loop", "unwell"],
    )
    assert told_json["causes"][0]["chain"][0] == {
        "object": "app shop",
        "what": "is Synced and Progressing at 4f2c",
        "since": "2026-01-01T11:57:00Z",
    }


def test_the_page_shows_what_is_really_said() -> None:
    since = NOON - timedelta(minutes=3)
    unit = SyncUnit(
        id="shop",
        source={},
        destination=Destination(cluster="here", namespace="shop"),
        status=UnitStatus(health_since=since),
    )
    replicas = ResourceKey("apps", "ReplicaSet", "shop", "web-7c9b6d5f48")
    words = Health(HealthStatus.PROGRESSING, "0 of 1 replicas are available")
    missing = 'failed to resolve reference "registry.example/web:gone": not found'
    broken = pod("web-7c9b6d5f48-x2x7k", "ErrImagePull", replicas, message=missing, name="web")
    asked = facts(
        root(health=Health(HealthStatus.PROGRESSING, "0 of 1 updated replicas are available")),
        Seen(key=replicas, uid="rs", manifest={}, parent=WEB, health=words),
        broken,
        unit=unit,
        source="https://git.example/team/shop.git at main, live",
        standing="is Synced and Progressing at 4f2c9e1",
    )
    assert f"$ trimtab why shop\n{answer_text(answer_from(asked))}\n```" in PAGE.read_text()
