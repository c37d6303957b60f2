"""Sources: from a Git address to manifests.

Doers come from here; values and pure functions from their own modules.
"""
