"""Workflows that are Python functions: their compilation to objects, and their params."""
