"""Hints that something changed: messages of Git hosts, and whom they concern. Pure."""
