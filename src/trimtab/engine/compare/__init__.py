"""Comparing what is wanted with what is, by the owners that servers record; the doer is `Comparer`."""
