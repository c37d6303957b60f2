"""The index answers as a scan of everything would, whatever came before."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from msgspec.structs import replace

from tests.engine.cache.objects import Shelved, key, manifest
from trimtab.engine.cache.index import Index, Scope
from trimtab.engine.cache.owners import stem_of
from trimtab.engine.cache.seen import Remembered
from trimtab.engine.live import Change, Live, Owner
from trimtab.engine.marks import Mark
from trimtab.kube.picture import Complete, Listing, Picture, Removed
from trimtab.resources.keys import ResourceKey

SET, CLAIM = "StatefulSet", "PersistentVolumeClaim"
KEYS = [
    *(key(name, of, namespace=where) for of in ("Pod", "Node") for name in "ab" for where in ("x", "y")),
    *(key(name, SET, "apps", namespace=where) for name in ("db", "db-in") for where in ("x", "y")),
    *(key(f"data-{name}-0", CLAIM, namespace=where) for name in ("db", "db-in") for where in ("x", "y")),
]
UIDS = [f"uid-{number}" for number in range(5)]
MARKS = [None, Mark("trimtab", "one"), Mark("trimtab", "two")]
OWNERS = [
    *(Owner(uid, key("o", "Owner", namespace="x")) for uid in UIDS),
    *(Owner("", each, True) for each in KEYS[:4]),
]


class Naive:
    """Everything in one dictionary, every answer by looking at all of it."""

    def __init__(self) -> None:
        self.objects: dict[ResourceKey, Live] = {}
        self.stems: dict[ResourceKey, tuple[str, ...]] = {}

    def owners(self, live: Live) -> set[Owner]:
        found = set(live.owners)
        if live.key.kind == CLAIM:
            for name, stems in self.stems.items():
                uid = self.objects[name].uid
                is_named = any(owner.uid == uid for owner in live.owners)
                if name.namespace == live.key.namespace and stem_of(live.key.name) in stems and not is_named:
                    found.add(Owner(uid, name, True))
        return found


class IndexMachine(RuleBasedStateMachine):
    """Random comings, changes and goings, checked against the naive picture after each."""

    def __init__(self) -> None:
        super().__init__()
        self.index = Index()
        self.naive = Naive()
        self.version = 0
        self.told: dict[ResourceKey, Live] = {}

    @rule(
        of=st.sampled_from(KEYS),
        uid=st.sampled_from(UIDS),
        mark=st.sampled_from(MARKS),
        owners=st.lists(st.sampled_from(OWNERS), max_size=2, unique=True),
        has_templates=st.booleans(),
    )
    def put(
        self, of: ResourceKey, uid: str, mark: Mark | None, owners: list[Owner], *, has_templates: bool
    ) -> None:
        self.version += 1
        live = Live(
            key=of,
            api_version="v1",
            uid=uid,
            resource_version=str(self.version),
            owners=tuple(owners),
            mark=mark,
        )
        stems = (f"data-{of.name}",) if of.kind == SET and has_templates else ()
        self.naive.objects[of] = live
        if of.kind == SET:
            self.naive.stems[of] = stems
        self.hear(self.index.put(Scope(of.group, of.kind), live, stems))

    @rule(of=st.sampled_from(KEYS))
    def remove(self, of: ResourceKey) -> None:
        self.naive.objects.pop(of, None)
        self.naive.stems.pop(of, None)
        self.hear(self.index.remove(Scope(of.group, of.kind), of))

    def hear(self, changes: tuple[Change, ...]) -> None:
        """Whoever only listens to changes has the same picture: no change is left out or told wrongly."""
        for change in changes:
            assert self.told.get(change.key) == change.before
            if change.after is None:
                del self.told[change.key]
            else:
                self.told[change.key] = change.after

    @invariant()
    def objects_are_found_by_key(self) -> None:
        found = {each: self.index.get(each) for each in KEYS}
        assert {name: live for name, live in found.items() if live is not None} == self.told
        assert self.told.keys() == self.naive.objects.keys()
        assert len(self.index) == len(self.told)

    @invariant()
    def owners_are_as_a_scan_says(self) -> None:
        for name, live in self.naive.objects.items():
            assert set(self.told[name].owners) == self.naive.owners(live)

    @invariant()
    def roots_are_as_a_scan_says(self) -> None:
        for mark in filter(None, MARKS):
            roots = [
                name
                for name, live in self.naive.objects.items()
                if live.mark == mark and not self.naive.owners(live)
            ]
            assert self.index.roots(mark) == tuple(self.told[name] for name in sorted(roots))

    @invariant()
    def children_are_as_a_scan_says(self) -> None:
        for parent in self.told.values():
            owned = {
                name
                for name, live in self.naive.objects.items()
                if any(
                    owner.uid == parent.uid if owner.uid else owner.key == parent.key
                    for owner in self.naive.owners(live)
                )
            }
            assert self.index.owned(parent) == tuple(self.told[name] for name in sorted(owned))

    @invariant()
    def namespaces_are_as_a_scan_says(self) -> None:
        for namespace in ("x", "y"):
            found = {live.key for live in self.index.within(namespace)}
            assert found == {name for name in self.told if name.namespace == namespace}

    @invariant()
    def nothing_is_kept_of_what_is_gone(self) -> None:
        if not self.told:
            assert self.index.is_empty()


TestIndex = IndexMachine.TestCase
TestIndex.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


@pytest.mark.fact("C14")
def test_reading_one_namespace_again_leaves_the_objects_of_others_as_they_are() -> None:
    shelved = Shelved()
    a, b = key("a", namespace="a"), key("a", namespace="b")
    shelved.put(manifest(a), namespace="a")
    shelved.put(manifest(b), namespace="b")
    listing = Listing(Picture(Remembered(shelved.index, Scope("", "ConfigMap", "a"))))
    gone, complete = listing.end()
    assert isinstance(gone, Removed)
    assert (gone.namespace, gone.name) == ("a", "a")
    assert isinstance(complete, Complete)


@pytest.mark.fact("C27")
def test_an_owner_forgets_a_child_that_goes() -> None:
    shelved = Shelved()
    parent, child = key("set", "ReplicaSet", "apps"), key("pod", "Pod")
    shelved.put(manifest(parent), manifest(child, owners=[parent]))
    held = shelved.index.get(parent)
    assert held is not None
    assert [each.key for each in shelved.index.owned(held)] == [child]
    shelved.remove(child)
    assert shelved.index.owned(held) == ()
    shelved.remove(parent)
    assert shelved.index.is_empty()


@pytest.mark.fact("C28")
def test_a_child_whose_owner_changes_moves_from_the_old_one_to_the_new_one() -> None:
    shelved = Shelved()
    old, new, child = key("old", "ReplicaSet", "apps"), key("new", "ReplicaSet", "apps"), key("pod", "Pod")
    shelved.put(manifest(old), manifest(new), manifest(child, owners=[old]))
    shelved.put(manifest(child, owners=[new], version="2"))
    found = {each.name: shelved.index.get(each) for each in (old, new)}
    assert {
        name: [each.key for each in shelved.index.owned(live)] for name, live in found.items() if live
    } == {"old": [], "new": [child]}


def test_the_same_state_twice_is_no_change() -> None:
    shelved = Shelved()
    assert len(shelved.put(manifest(key("a")))) == 1
    assert shelved.put(manifest(key("a"))) == ()


def test_a_mark_that_goes_takes_the_object_out_of_its_unit() -> None:
    index = Index()
    live = Live(key=key("a"), api_version="v1", uid="u", resource_version="1", mark=Mark("trimtab", "one"))
    scope = Scope("", "ConfigMap")
    index.put(scope, live)
    assert index.marks() == (Mark("trimtab", "one"),)
    index.put(scope, replace(live, mark=None, resource_version="2"))
    assert (index.marks(), index.roots(Mark("trimtab", "one"))) == ((), ())
