"""A way to mark objects that is as small as can be, for tests of what only needs some way."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.engine.marks import Mark
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest

OWNER = "trimtab.dev/owner"


class ByAnnotation:
    """The annotation says whose an object is, and nothing else does."""

    def __init__(self, annotation: str = OWNER) -> None:
        self._annotation = annotation

    def mark_of(
        self, key: ResourceKey, labels: Mapping[str, str], annotations: Mapping[str, str]
    ) -> Mark | None:
        owner = annotations.get(self._annotation)
        return None if owner is None else self.mark_for(owner)

    def mark_for(self, unit: str) -> Mark:
        return Mark("trimtab", unit)

    def marked(self, manifest: Manifest, unit: str) -> Manifest:
        metadata = manifest.get("metadata", {})
        annotations = {**metadata.get("annotations", {}), self._annotation: unit}
        return {**manifest, "metadata": {**metadata, "annotations": annotations}}
