"""The state of tasks and groups, derived from their TaskRuns. Pure."""
