"""Repositories: addresses, credentials, references, mirrors.

Values and functions come from their own modules, doers through the door of sources.
"""
