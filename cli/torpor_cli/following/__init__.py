"""Follows runs until they end: the live tree, and waits."""
