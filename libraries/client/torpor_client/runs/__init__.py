"""Runs of the cluster and of the archive: their names, states, lists and results. Pure."""
