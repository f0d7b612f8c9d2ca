"""Runs that Schedules and Backfills start: their event, its expressions, and the Workflow. Pure."""
