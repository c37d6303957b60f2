"""The live state of a cluster, kept up to date and asked without waiting.

Doers come from here: `ClusterCache`, and what it reads from the cluster itself, `Fetched`. Values and pure
functions come from their own modules: `reach` (which namespaces), `filters` (which kinds), `states` (how the
reading stands), `trees`, `records`.
"""

from trimtab.engine.cache.cluster_cache import ClusterCache, Fetched

__all__ = ["ClusterCache", "Fetched"]
