"""Names of Kubernetes objects, independent of the API version they are spoken of in."""

from __future__ import annotations

from msgspec import Struct


class ResourceKey(Struct, frozen=True, order=True, gc=False):
    """One object in one cluster; `namespace` is empty for cluster-scoped kinds."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """As people write it: `Deployment.apps shop/web`."""
        kind = f"{self.kind}.{self.group}" if self.group else self.kind
        return f"{kind} {self.namespace}/{self.name}" if self.namespace else f"{kind} {self.name}"
