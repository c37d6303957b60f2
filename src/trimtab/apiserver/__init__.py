"""The embedded cluster: a Kubernetes API in memory."""
