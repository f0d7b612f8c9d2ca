"""Plans the next actions of a Workflow from a snapshot. Pure."""
