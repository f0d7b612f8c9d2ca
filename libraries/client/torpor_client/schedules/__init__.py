"""Schedules and Backfills: their ticks, their runs, and their rows in a table. Pure."""
