"""Records of objects: they share what they have in common, and whoever makes them keeps nothing of them."""

from __future__ import annotations

from tests.engine.cache.objects import CONFIG_MAPS, PODS, TRACKING, key, manifest, told
from trimtab.engine.cache.records import Recorder, judges_nothing


def test_records_share_the_name_of_their_namespace_and_a_recorder_keeps_none_of_those_that_went() -> None:
    recorder = Recorder(TRACKING, judges_nothing, lambda _group, _kind: True)
    before = {name: len(held) for name, held in vars(recorder).items() if isinstance(held, dict)}
    spaces = [f"pull-request-{number // 2}" for number in range(100)]
    lives = [recorder.record(told(manifest(key("a", namespace=space))), CONFIG_MAPS).live for space in spaces]
    assert len({id(live.key.namespace) for live in lives}) == 50
    assert {name: len(held) for name, held in vars(recorder).items() if isinstance(held, dict)} == before


def test_siblings_share_their_owners() -> None:
    recorder = Recorder(TRACKING, judges_nothing, lambda _group, _kind: True)
    web, shop = key("web", "ReplicaSet", "apps"), key("shop", "ReplicaSet", "apps")
    owners = [
        recorder.record(told(manifest(key(name, "Pod"), owners=named)), PODS).live.owners
        for name, named in (("a", [web]), ("b", [web]), ("c", []), ("d", [web]), ("e", [shop]))
    ]
    assert [[owner.key for owner in each] for each in owners] == [[web], [web], [], [web], [shop]]
    assert len({id(each) for each in owners}) == 3
