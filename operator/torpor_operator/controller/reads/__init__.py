"""Reads of the API server that answer queries of a plan."""
