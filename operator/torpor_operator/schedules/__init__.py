"""Decides which runs Schedules and Backfills start. Pure."""
