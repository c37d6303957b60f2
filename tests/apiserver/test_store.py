"""The store: versions, history, order, subscribers."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.apiserver.store import Change, ChangeType, Gone, Store

MAPS = ("", "configmaps")


def manifest(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}}


def names(entries: list[Any]) -> list[str]:
    return [entry.key for entry in entries]


def test_every_change_gets_the_next_version() -> None:
    store = Store()
    first = store.put(MAPS, "a/x", manifest("x"))
    second = store.put(MAPS, "a/x", manifest("x", l="1"))
    assert second.revision == first.revision + 1 == store.revision
    assert second.decoded()["metadata"]["resourceVersion"] == str(second.revision)


def test_a_removal_has_a_version_of_its_own() -> None:
    store = Store()
    store.put(MAPS, "a/x", manifest("x"))
    removed = store.remove(MAPS, "a/x", manifest("x"))
    assert removed.revision == store.revision
    assert store.get(MAPS, "a/x") is None


def test_objects_are_listed_in_the_order_of_their_keys_and_by_namespace() -> None:
    store = Store()
    for key in ("b/a", "a/z", "a-b/x", "a/b"):
        store.put(MAPS, key, manifest(key))
    assert names(store.entries(MAPS)) == ["a-b/x", "a/b", "a/z", "b/a"]
    assert names(store.entries(MAPS, "a/")) == ["a/b", "a/z"]
    assert store.count(MAPS, "a/") == 2


def test_a_past_version_can_be_listed() -> None:
    store = Store()
    store.put(MAPS, "a/x", manifest("x", l="old"))
    store.put(MAPS, "a/y", manifest("y"))
    then = store.revision
    store.put(MAPS, "a/x", manifest("x", l="new"))
    store.remove(MAPS, "a/y", manifest("y"))
    store.put(MAPS, "a/z", manifest("z"))
    past = store.at(MAPS, then)
    assert [(entry.key, entry.labels) for entry in past] == [("a/x", {"l": "old"}), ("a/y", {})]


def test_history_is_bounded_and_says_what_is_gone() -> None:
    store = Store(history=2)
    for number in range(4):
        store.put(MAPS, "a/x", manifest("x", l=str(number)))
    newest = store.revision
    assert [change.revision for change in store.changes_since(MAPS, newest - 2)] == [newest - 1, newest]
    with pytest.raises(Gone) as gone:
        store.changes_since(MAPS, newest - 3)
    assert gone.value.oldest == newest - 2
    with pytest.raises(Gone):
        store.at(MAPS, newest - 3)


def test_history_is_bounded_by_weight_too() -> None:
    store = Store(history_bytes=1000)
    for _ in range(50):
        store.put(MAPS, "a/x", manifest("x" * 100))
    assert store.compacted >= store.revision - 10


def test_an_object_takes_little_more_memory_than_its_json() -> None:
    store, large = Store(), {"data": {"settings": "x" * 2100}}  # more than half of a power of two
    tracemalloc.start()
    try:
        kept = [store.put(MAPS, f"a/{n}", manifest(f"{n}") | large) for n in range(100)]
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 1 < taken / sum(len(each.body) for each in kept) < 1.4


def test_compaction_forgets_on_demand() -> None:
    store = Store()
    store.put(MAPS, "a/x", manifest("x"))
    store.compact()
    with pytest.raises(Gone):
        store.changes_since(MAPS, store.revision - 1)
    assert store.changes_since(MAPS, store.revision) == []


def test_subscribers_hear_changes_in_order_also_those_made_while_another_is_told() -> None:
    store = Store()
    heard: list[tuple[str, ChangeType]] = []

    def answering(change: Change) -> None:
        if change.entry.key == "a/x" and change.type is ChangeType.ADDED:
            store.put(MAPS, "a/y", manifest("y"))

    store.subscribe(answering)
    store.subscribe(lambda change: heard.append((change.entry.key, change.type)))
    store.put(MAPS, "a/x", manifest("x"))
    assert heard == [("a/x", ChangeType.ADDED), ("a/y", ChangeType.ADDED)]


def test_who_has_left_hears_no_more() -> None:
    store = Store()
    heard: list[Change] = []
    leave = store.subscribe(heard.append)
    leave()
    store.put(MAPS, "a/x", manifest("x"))
    assert heard == []


def test_a_subscriber_that_fails_does_not_silence_the_next_change() -> None:
    store = Store()
    heard: list[str] = []

    def failing(change: Change) -> None:
        if change.entry.key == "a/x":
            raise RuntimeError("broken")
        heard.append(change.entry.key)

    store.subscribe(failing)
    with pytest.raises(RuntimeError):
        store.put(MAPS, "a/x", manifest("x"))
    store.put(MAPS, "a/y", manifest("y"))
    assert heard == ["a/y"]


ACTS = st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=30)


@given(ACTS, st.integers(0, 30))
def test_every_version_in_the_history_is_what_it_was(acts: list[tuple[str, bool]], at: int) -> None:
    store = Store()
    pictures = {store.revision: dict[str, int]()}
    for key, keep in acts:
        if keep:
            store.put(MAPS, key, manifest(key))
        elif store.get(MAPS, key) is not None:
            store.remove(MAPS, key, manifest(key))
        pictures[store.revision] = {entry.key: entry.revision for entry in store.entries(MAPS)}
    version = min(at + 1, store.revision)
    assert {entry.key: entry.revision for entry in store.at(MAPS, version)} == pictures[version]
