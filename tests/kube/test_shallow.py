"""One object that is nested beyond all reason hides no other."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.engine.cache.fingerprints import fingerprint
from trimtab.kube.cluster import WatchEvent
from trimtab.kube.frames import event_from
from trimtab.kube.objects import object_from, page_from
from trimtab.kube.shallow import shallow

VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='a"\\[]{}é\n'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=20,
)


def pruned(value: Any, left: int) -> Any:
    """The same by the rule itself."""
    if not isinstance(value, dict | list):
        return value
    if left == 0:
        return None
    if isinstance(value, list):
        return [pruned(each, left - 1) for each in value]
    return {name: pruned(each, left - 1) for name, each in value.items()}


@given(VALUES, st.integers(min_value=0, max_value=4))
def test_what_lies_deeper_becomes_null_and_nothing_else_changes(value: Any, deepest: int) -> None:
    assert msgspec.json.decode(shallow(msgspec.json.encode(value), deepest)) == pruned(value, deepest)


def widget(name: str, depth: int) -> bytes:
    nest = b'{"a":[' * (depth // 2) + b"]}" * (depth // 2)
    head = f'{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"{name}","uid":"{name}"}},'
    return head.encode() + b'"spec":' + (nest or b"1") + b"}"


@pytest.mark.parametrize("depth", [10, 900, 1000, 5000, 9000])
def test_an_object_is_read_however_deep_it_is(depth: int) -> None:
    found = object_from(widget("deep", depth))
    assert found.key.name == "deep"
    assert found.manifest()["metadata"] == {"name": "deep", "uid": "deep"}
    assert fingerprint(found)
    line = b'{"type":"ADDED","object":' + widget("deep", depth) + b"}"
    event = event_from(line, api_version="example.com/v1", kind="Widget", subject="watch Widget")
    assert isinstance(event, WatchEvent)
    assert event.object.key.name == "deep"


def test_a_page_shows_all_that_lie_beside_one_that_is_too_deep() -> None:
    items = b",".join((widget("a", 4), widget("deep", 9000), widget("z", 4)))
    body = b'{"kind":"WidgetList","metadata":{"resourceVersion":"9"},"items":[' + items + b"]}"
    page = page_from(body, api_version="example.com/v1", kind="Widget")
    assert [each.metadata.name for each in page.objects] == ["a", "deep", "z"]
    assert page.objects[2].raw == widget("z", 4)
    assert page.resource_version == "9"
