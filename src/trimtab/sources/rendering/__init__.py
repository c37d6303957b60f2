"""Rendering: from a tree to manifests, behind walls and never twice.

Values and functions come from their own modules, doers through the door of sources.
"""
