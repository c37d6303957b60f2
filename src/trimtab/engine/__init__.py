"""The engine: from desired and live state to a healthy cluster.

Doers come from here; values and pure functions from their own modules.
"""
