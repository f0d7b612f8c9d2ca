"""Checks YAML without a cluster, as the API server and the operator would."""
