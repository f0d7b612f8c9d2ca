"""Schedules, their runs and Backfills: what the commands `torpor schedule` and `torpor backfill` show."""
