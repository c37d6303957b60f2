"""The figures of comparing, as they are printed."""

from __future__ import annotations

import msgspec

from bench.compare import Figure, Picture, table
from trimtab.kube.objects import object_from


def test_a_figure_says_whether_it_keeps_to_its_aim() -> None:
    figures = [
        Figure(what="a", item="object", micros=19.96, at_most=20.0),
        Figure(what="b", item="unit", micros=21.0, at_most=20.0),
        Figure(what="c", item="object", micros=1.0),
    ]
    assert table(figures).splitlines()[2:] == [
        "| a | 20.0 µs per object | ≤ 20 | yes |",
        "| b | 21.0 µs per unit | ≤ 20 | **no** |",
        "| c | 1.0 µs per object |  |  |",
    ]


def test_a_picture_holds_what_it_saw_by_unit() -> None:
    metadata = {"name": "a", "annotations": {"trimtab.dev/owner": "i/u"}}
    raw = msgspec.json.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    found, picture = object_from(raw), Picture()
    picture.see(found)
    live = picture.get(found.key)
    assert live is not None
    assert live.mark is not None
    assert picture.managed(live.mark) == (live,)
    assert picture.manifest(found.key) == found.manifest()
