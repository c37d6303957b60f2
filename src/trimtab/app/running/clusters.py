"""The clusters that a runner's units may name, each reached on its own, and what charts may know of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

from trimtab.app.capabilities import capabilities_of
from trimtab.app.fencing import fenced
from trimtab.engine import GivenClusters
from trimtab.engine.units import ClusterEntry
from trimtab.errors import InvalidSpec, Missing
from trimtab.kube.cluster import Cluster
from trimtab.sources.rendering.specs import Capabilities
from trimtab.tasks import Clock

Connect = Callable[[], AbstractAsyncContextManager[Cluster]]
#: seconds after which a cluster is asked again what it can do
_FRESH = 600.0


class Clusters:
    """Every cluster that units may live in, by the name that they call it."""

    def __init__(
        self, connections: Mapping[str, Connect], *, namespaces: tuple[str, ...], clock: Clock
    ) -> None:
        self._connections = dict(connections)
        self._namespaces = namespaces
        self._clock = clock
        self._known: dict[str, tuple[float, Capabilities]] = {}

    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(sorted(self._connections))

    def fenced_by(self, is_held: Callable[[], bool]) -> GivenClusters:
        """The clusters for an engine that may write only while a lease is held."""
        given = GivenClusters()
        for name, connect in self._connections.items():
            given.put(self._entry(name, connect, is_held))
        return given

    def _entry(self, name: str, connect: Connect, is_held: Callable[[], bool]) -> ClusterEntry:
        return ClusterEntry(
            name=name, connect=lambda: fenced(connect(), is_held), namespaces=self._namespaces
        )

    async def capabilities(self, name: str) -> Capabilities:
        """What charts may ask about a cluster, asked now and then."""
        now, known = self._clock.monotonic(), self._known.get(name)
        if known is not None and now - known[0] < _FRESH:
            return known[1]
        if name not in self._connections:
            remedy = f"Name it with --cluster {name}=CONTEXT; known are: {', '.join(self.names())}"
            raise Missing(f"cluster {name}", "there is no such cluster", remedy)
        async with self._connections[name]() as cluster:
            found = await capabilities_of(cluster)
        self._known[name] = now, found
        return found


def named(pairs: tuple[str, ...], what: str, form: str) -> dict[str, str]:
    """The pairs of a setting, by their names; `form` says how one is written, such as `NAME=CONTEXT`."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals and value):
            raise InvalidSpec(f"{what} {pair!r}", f"it is not of the form {form}", f"Write {form}")
        found[name] = value
    return found
