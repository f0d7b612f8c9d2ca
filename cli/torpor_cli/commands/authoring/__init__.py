"""Commands for Workflows that are Python functions."""
