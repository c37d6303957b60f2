"""Who claims an object: the mark that a managing system leaves on what it manages. Pure.

The ways to write and to read marks are in `tracking`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol

from msgspec import Struct

from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest


class Mark(Struct, frozen=True, order=True, gc=False):
    """One claim: the system that made it and whom it names there.

    For our own marks `system` is `trimtab` and `owner` is `<installation uid>/<unit id>`; for Argo CD's it is
    `argocd` and the application; for Flux and Helm `flux` and `helm` and the owner as they spell it.
    """

    system: str
    owner: str

    def __str__(self) -> str:
        """As people read it: `flux Kustomization apps/shop`, `trimtab app shop (installation 134af4a4)`."""
        installation, slash, unit = self.owner.partition("/")
        if self.system == "trimtab" and slash:
            return f"trimtab app {unit} (installation {installation.partition('-')[0]})"
        return f"{self.system} {self.owner}"


@lru_cache(maxsize=65536)
def mark(system: str, owner: str) -> Mark:
    """A mark; equal ones are one value, since many objects carry the same."""
    return Mark(system, owner)


class Adoption(Struct, frozen=True, kw_only=True):
    """Whose objects may be taken over; nobody's, unless somebody chooses so."""

    #: every object that one of these systems claims, such as `helm`
    systems: frozenset[str] = frozenset()
    #: every object that carries exactly one of these marks
    marks: frozenset[Mark] = frozenset()

    def allows(self, claim: Mark) -> bool:
        """Whether an object with this claim may be taken over."""
        return claim in self.marks or claim.system in self.systems


NO_ADOPTION = Adoption()


class Tracking(Protocol):
    """One way to mark objects and to read the marks back."""

    def mark_of(
        self, key: ResourceKey, labels: Mapping[str, str], annotations: Mapping[str, str]
    ) -> Mark | None:
        """Who claims the object that carries these; None if nobody known does."""

    def mark_for(self, unit: str) -> Mark:
        """The mark of one of our own units."""

    def unit_named(self, claim: Mark) -> str:
        """The unit of ours that a mark names; empty if it is not ours alone to read."""

    def marked(self, manifest: Manifest, unit: str, *, namespace: str = "") -> Manifest:
        """The manifest with our mark; the one given stays as it is.

        `namespace` is the unit's own: some marks name it where the object has none.
        """

    def unmarked(self, manifest: Manifest) -> Manifest:
        """The manifest without our mark; the one given stays as it is."""

    def is_itself(self, live: Manifest, key: ResourceKey, wanted: ResourceKey | None) -> bool:
        """Whether a marked object is the one that was marked, not a copy that somebody made with its mark."""

    def migrated(self, live: Manifest, wanted: Manifest) -> Manifest:
        """The live object as if an older way of marking it had been this one, for comparing."""
