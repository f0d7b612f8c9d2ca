"""Checks the YAML of Workflows without a cluster: everything that the API server and the operator would report."""
