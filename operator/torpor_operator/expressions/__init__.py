"""Resolves the expressions of a Workflow. Pure."""
