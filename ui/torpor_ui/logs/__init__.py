"""Joins the logs of one instance from pods, waits and the archive, ordered by time, for one viewer."""
