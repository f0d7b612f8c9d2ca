"""What a caller can change by the page, each with a preview: runs, tasks, Schedules and Backfills."""
