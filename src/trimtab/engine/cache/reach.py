"""How far into a cluster we see: everywhere, or some namespaces with or without what lies in none. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from trimtab.engine.cache.catalog import Catalog
from trimtab.engine.cache.filters import ResourceFilter, is_watchable
from trimtab.engine.cache.index import Scope
from trimtab.engine.places import Place
from trimtab.errors import NotAllowed
from trimtab.kube.discovery import Resource
from trimtab.resources.keys import ResourceKey


class OutsideReach(NotAllowed):
    """An object is where this cluster is not managed."""


class Reach(Struct, frozen=True, kw_only=True):
    """Which namespaces are read, none meaning all; and whether, with some, cluster-scoped kinds are, too."""

    namespaces: tuple[str, ...] = ()
    cluster_resources: bool = False
    #: the places that alone are read, however far one could see; None means all there are
    places: frozenset[Place] | None = None

    def scopes(self, resource: Resource) -> tuple[Scope, ...]:
        """What is watched of one kind."""
        seen = self._scopes(resource)
        return seen if self.places is None else _narrowed(seen, resource, self.places)

    def _scopes(self, resource: Resource) -> tuple[Scope, ...]:
        if not self.namespaces or not resource.namespaced:
            seen = not self.namespaces or self.cluster_resources
            return (Scope(resource.group, resource.kind),) if seen else ()
        return tuple(Scope(resource.group, resource.kind, each) for each in dict.fromkeys(self.namespaces))

    def covers(self, key: ResourceKey) -> bool:
        """Whether an object of this key would be seen, were its kind watched."""
        if not self.namespaces:
            return True
        return key.namespace in self.namespaces if key.namespace else self.cluster_resources


def _narrowed(seen: tuple[Scope, ...], resource: Resource, places: frozenset[Place]) -> tuple[Scope, ...]:
    """Of what could be seen of a kind, what lies in these places."""
    kind = resource.group, resource.kind
    mine = sorted(each.namespace for each in places if (each.group, each.kind) == kind)
    if not mine or not resource.namespaced or "" in mine:
        return seen if mine else ()
    is_wide = any(not each.namespace for each in seen)
    spaces = mine if is_wide else [each.namespace for each in seen if each.namespace in mine]
    return tuple(Scope(resource.group, resource.kind, each) for each in spaces)


EVERYWHERE = Reach()


def check_reach(reach: Reach, keys: Iterable[ResourceKey]) -> None:
    """Refuse objects outside the reach, naming them."""
    outside = [key for key in keys if not reach.covers(key)]
    if not outside:
        return
    named = ", ".join(map(str, outside[:10])) + (f" and {len(outside) - 10} more" if outside[10:] else "")
    remedy = (
        f"Manage only {', '.join(reach.namespaces)} here, or widen the cluster's namespaces."
        if any(key.namespace for key in outside)
        else "Allow cluster-scoped resources for this cluster."
    )
    raise OutsideReach(named, "it lies outside what is managed in this cluster", remedy)


def wanted(catalog: Catalog, reach: Reach, chosen: ResourceFilter, cluster: str) -> dict[Scope, Resource]:
    """What shall be watched, and in which version of its kind."""
    return {
        scope: resource
        for resource in catalog.preferred_ones()
        if is_watchable(resource) and not chosen.excludes(resource.group, resource.kind, cluster)
        for scope in reach.scopes(resource)
    }
