"""Joins the logs of pods, waits and the archive into one stream, ordered by time."""
