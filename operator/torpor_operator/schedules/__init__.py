"""Decides what a Schedule and a Backfill need: which runs to create, and which sources to arm. Pure."""
