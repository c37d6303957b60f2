"""Kinds that are defined twice, or anew elsewhere: what is watched is what the server serves."""

from __future__ import annotations

from msgspec.structs import replace

from tests.engine.cache.objects import CRDS, WIDGETS, Json, definition, widget
from tests.engine.cache.test_cluster_cache import key_of, running


def renamed(plural: str) -> Json:
    """Widgets by another definition, under another name."""
    whole = definition("v1")
    spec = {**whole["spec"], "names": {**whole["spec"]["names"], "plural": plural}}
    return {**whole, "metadata": {"name": f"{plural}.example.com"}, "spec": spec}


async def test_a_definition_that_is_refused_its_kind_takes_nothing_from_the_one_that_has_it() -> None:
    async with running() as world:
        await world.create(CRDS, definition("v1"))
        await world.until(lambda: world.cache.knows("example.com", "Widget", "default"))
        await world.create(WIDGETS, widget("w"))
        name = key_of("w", "Widget", "example.com")
        await world.until(lambda: world.cache.get(name))
        await world.create(CRDS, renamed("gadgets"))
        other = key_of("gadgets.example.com", CRDS.kind, CRDS.group)
        await world.until(lambda: world.cache.get(other))
        await world.create(CRDS, definition("v1", of="Later"))
        await world.until(lambda: world.cache.knows("example.com", "Later", "default"))
        assert world.cache.get(name) is not None
        await world.troubled.inner.delete(CRDS, "gadgets.example.com")
        await world.until(lambda: world.cache.get(other) is None)
        assert world.cache.catalog.namespaced("example.com", "Widget") is True
        assert [each.after is None for each in world.changes if each.key == name] == [False]


async def test_a_kind_that_is_defined_anew_under_another_plural_is_watched_there() -> None:
    async with running() as world:
        await world.create(CRDS, definition("v1"))
        await world.until(lambda: world.cache.knows("example.com", "Widget", "default"))
        await world.troubled.inner.delete(CRDS, "widgets.example.com")
        await world.create(CRDS, renamed("gadgets"))
        gadgets = replace(WIDGETS, plural="gadgets")
        await world.until(lambda: world.cache.catalog.preferred("example.com", "Widget"))
        await world.create(gadgets, widget("w"))
        await world.until(lambda: world.cache.get(key_of("w", "Widget", "example.com")))
