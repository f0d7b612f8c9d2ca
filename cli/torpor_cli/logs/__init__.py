"""Joins the logs of pods, waits and the archive into one stream in the order of time."""
