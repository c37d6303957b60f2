"""Trimtab keeps Kubernetes clusters at the state that Git declares."""
