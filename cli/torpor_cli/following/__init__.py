"""Follows runs until they end: the live tree, and waiting for an end."""
