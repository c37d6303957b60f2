"""What is live, as comparing is measured on it."""

from __future__ import annotations

import msgspec

from bench.compare import Picture
from trimtab.kube.objects import object_from


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
