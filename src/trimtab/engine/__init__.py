"""The engine: from desired and live state to a healthy cluster.

    engine = Engine(settings, credentials, manifests, units)

`Engine` keeps units as their sources want them; `ClusterCache`, `Comparer`, `plan_sync` with `operate`, and
`health_of` are its parts, each usable alone. Doers come from here; values and pure functions from their own
modules: `units`, `operations`, `policy`, `events`, `rows`, `plan` and so on.
"""

from typing import TYPE_CHECKING

from trimtab.doors import opened_when_asked

if TYPE_CHECKING:
    from trimtab.engine.cache import ClusterCache
    from trimtab.engine.clusters import GivenClusters
    from trimtab.engine.compare.comparer import Comparer
    from trimtab.engine.engine import Engine, NothingUnderWay, Preview
    from trimtab.engine.metrics import Metrics
    from trimtab.engine.stores import (
        FileStore,
        Keyring,
        MemoryArchive,
        MemoryStore,
        RecordArchive,
        RecordStore,
    )
    from trimtab.engine.sync.operate import Control, operate
else:
    __getattr__ = opened_when_asked(
        __name__,
        {
            "cache": ("ClusterCache",),
            "clusters": ("GivenClusters",),
            "compare.comparer": ("Comparer",),
            "engine": ("Engine", "NothingUnderWay", "Preview"),
            "metrics": ("Metrics",),
            "stores": (
                "FileStore",
                "Keyring",
                "MemoryArchive",
                "MemoryStore",
                "RecordArchive",
                "RecordStore",
            ),
            "sync.operate": ("Control", "operate"),
        },
    )

__all__ = [
    "ClusterCache",
    "Comparer",
    "Control",
    "Engine",
    "FileStore",
    "GivenClusters",
    "Keyring",
    "MemoryArchive",
    "MemoryStore",
    "Metrics",
    "NothingUnderWay",
    "Preview",
    "RecordArchive",
    "RecordStore",
    "operate",
]
