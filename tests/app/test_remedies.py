"""Words of a server that say themselves what to do."""

from __future__ import annotations

from trimtab.app.remedies import remedy_of


def test_a_namespace_that_is_not_there_is_told_with_how_to_make_it() -> None:
    words = 'ConfigMap nowhere/a: namespaces "nowhere" not found'
    assert remedy_of(words, "ask") == "Make the namespace nowhere, or sync with --create-namespace"
    assert remedy_of('secrets "nowhere" not found', "ask") == "ask"
