"""Generates tables of the documentation from the code, so that no page disagrees with it."""
