"""What `torpor schedule` and `torpor backfill` show: Schedules, their runs, and Backfills."""
