"""Records of objects: they share what they have in common, and whoever makes them keeps nothing of them."""

from __future__ import annotations

from tests.engine.cache.objects import CONFIG_MAPS, TRACKING, key, manifest, told
from trimtab.engine.cache.records import Recorder, judges_nothing


def test_records_share_the_name_of_their_namespace_and_a_recorder_keeps_none_of_those_that_went() -> None:
    recorder = Recorder(TRACKING, judges_nothing, lambda _group, _kind: True)
    before = {name: len(held) for name, held in vars(recorder).items() if isinstance(held, dict)}
    spaces = [f"pull-request-{number // 2}" for number in range(100)]
    lives = [recorder.record(told(manifest(key("a", namespace=space))), CONFIG_MAPS).live for space in spaces]
    assert len({id(live.key.namespace) for live in lives}) == 50
    assert {name: len(held) for name, held in vars(recorder).items() if isinstance(held, dict)} == before
