"""Charts as sources of their own: from a chart repository or a registry to files that can be read.

Doers come from `trimtab.sources`; values and pure functions from their own modules.
"""
