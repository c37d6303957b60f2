"""Trimtab keeps Kubernetes clusters at the state that Git declares."""

__version__ = "0.1.0.dev0"
