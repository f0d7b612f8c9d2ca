"""Notifications of a run: which are due, what they say, and the TaskRuns that send them. Pure."""
