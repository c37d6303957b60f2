"""How kinds are addressed while an operation runs: discovery, asked again only for what it does not know.

A kind whose definition the operation itself wrote is addressed by that definition: servers take a while to
tell of it. A kind that cannot be found is asked for once, for all its objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trimtab.engine.sync.messages import clean
from trimtab.engine.sync.patience import Patience
from trimtab.engine.sync.steps import Apply, RunHook, Step
from trimtab.errors import TrimtabError
from trimtab.kube.cluster import Cluster
from trimtab.kube.discovery import Discovery, Resource
from trimtab.kube.failures import Unauthenticated
from trimtab.tasks.clock import Clock

_TRIES = 5
_PAUSE = 0.01
_Kind = tuple[str, str]


class Kinds:
    """The kinds that one operation writes."""

    def __init__(self, cluster: Cluster, clock: Clock, discovery: Discovery, steps: Iterable[Step]) -> None:
        self._cluster, self._clock, self._discovery = cluster, clock, discovery
        self._patience = Patience(clock)
        self._defined = {
            (each.api_version, each.kind): each
            for step in steps
            if isinstance(step, Apply | RunHook)
            for each in defined_resources(step.body.manifest)
        }
        self._unknown: dict[_Kind, str] = {}

    def resource(self, api_version: str, kind: str) -> Resource | None:
        """How a kind is addressed, as far as it is known."""
        known = self._discovery.resource(api_version, kind)
        return known or self._defined.get((api_version, kind))

    def is_new(self, api_version: str, kind: str) -> bool:
        """Whether only the operation's own definition tells of the kind: the server may not serve it yet."""
        return self._discovery.resource(api_version, kind) is None

    def problem(self, api_version: str, kind: str) -> str:
        """Why a kind is not known."""
        return self._unknown.get((api_version, kind), "") or f"the server serves no {kind} in {api_version}"

    async def learn(self, steps: Iterable[Step]) -> None:
        """Ask the server again if a step is of a kind that is not known, once per kind."""
        wanted = {(step.api_version, step.key.kind) for step in steps}
        missing = {each for each in wanted if self.resource(*each) is None} - self._unknown.keys()
        if not missing:
            return
        problem = ""
        try:
            self._discovery = await self._discover()
        except TrimtabError as error:
            problem = clean(error.reason)
        failed = self._discovery.failed
        for kind in missing:
            if self.resource(*kind) is None:
                self._unknown[kind] = problem or failed.get(kind[0], "")

    async def _discover(self) -> Discovery:
        """Discovery; credentials that were just renewed are sometimes refused for a moment."""
        for _ in range(_TRIES - 1):
            try:
                return await self._patience.ask(self._cluster.discover)
            except Unauthenticated:
                await self._clock.sleep(_PAUSE)
        return await self._cluster.discover()


def defined_resources(manifest: Mapping[str, Any]) -> Iterator[Resource]:
    """The kinds that a CustomResourceDefinition defines, one for each version it serves."""
    spec = manifest.get("spec")
    if manifest.get("kind") != "CustomResourceDefinition" or not isinstance(spec, dict):
        return
    names, versions = spec.get("names"), spec.get("versions")
    group = spec.get("group")
    if not isinstance(names, dict) or not isinstance(versions, list) or not isinstance(group, str):
        return
    kind, plural = names.get("kind"), names.get("plural")
    for version in versions:
        named = version.get("name") if isinstance(version, dict) and version.get("served", True) else None
        if isinstance(named, str) and isinstance(kind, str) and isinstance(plural, str):
            yield Resource(
                group=group,
                version=named,
                kind=kind,
                plural=plural,
                namespaced=spec.get("scope") == "Namespaced",
            )
