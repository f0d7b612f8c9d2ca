"""Runs a Workflow on one machine without a cluster, with the shipped components (ADR 0039)."""
