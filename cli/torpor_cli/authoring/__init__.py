"""Compiles Workflows that are Python functions, and reads their params."""
