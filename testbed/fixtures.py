"""Pytest fixtures of the real parts."""
