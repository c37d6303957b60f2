"""Who claims an object: the mark that a managing system leaves on what it manages. Pure."""

from __future__ import annotations

from collections.abc import Mapping
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


class Tracking(Protocol):
    """One way to mark objects and to read the marks back."""

    def mark_of(
        self, key: ResourceKey, labels: Mapping[str, str], annotations: Mapping[str, str]
    ) -> Mark | None:
        """Who claims the object that carries these; None if nobody known does."""

    def mark_for(self, unit: str) -> Mark:
        """The mark of one of our own units."""

    def marked(self, manifest: Manifest, unit: str) -> Manifest:
        """The manifest with our mark; the one given stays as it is."""
