"""Words every room uses: keys, manifests, YAML as Kubernetes reads it, digests, keyed hashes of secrets.

Pure: values and functions come from their own modules.
"""
