"""Kubernetes: speaking to it, and knowing its objects."""
