"""Starts the runs of Schedules and Backfills: caches, reconcile loops and writes."""
