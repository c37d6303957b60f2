"""Trimtab as a resident of a cluster: what has to be there for `trimtab run`, and bringing it there.

manifests = objects_of(Install(namespaces=("shop",)))
"""
