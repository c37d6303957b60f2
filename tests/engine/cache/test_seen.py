"""What `follow` remembers is what the index holds."""

from __future__ import annotations

import pytest

from tests.engine.cache.objects import Shelved, key, manifest
from trimtab.engine.cache.index import Scope
from trimtab.engine.cache.seen import Remembered
from trimtab.kube.picture import Version

SCOPE = Scope("", "ConfigMap")
A = ("shop", "a")


def remembered(*, renewing: bool = False) -> Remembered:
    shelved = Shelved()
    shelved.put(manifest(key("a"), uid="u", version="7"), manifest(key("p", "Pod")))
    return Remembered(shelved.index, SCOPE, renewing=renewing)


def test_it_names_the_objects_of_its_kind_and_scope_with_their_last_state() -> None:
    seen = remembered()
    assert (list(seen), len(seen)) == ([A], 1)
    assert seen[A] == seen.get(A) == Version("u", "7")
    assert seen.get(("shop", "b")) is None
    assert A in seen
    with pytest.raises(KeyError):
        seen["shop", "b"]


def test_it_is_written_through_the_index_alone() -> None:
    seen = remembered()
    seen["shop", "b"] = Version("v", "1")
    assert seen.pop(A) == Version("u", "7")
    assert seen.pop(("shop", "b"), None) is None
    assert list(seen) == [A]


def test_while_renewing_no_state_counts_as_told_but_lives_are_told_apart() -> None:
    seen = remembered(renewing=True)
    assert seen[A] == seen.get(A) == Version("u", "")
    seen.renewing = False
    assert seen.get(A) == Version("u", "7")
