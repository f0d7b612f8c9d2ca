"""Triggers with `poll_many`: one poll answers many waits."""
