"""Plays a Workflow on this machine with the shipped components; no cluster. See ADR 0039."""
