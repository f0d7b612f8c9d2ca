"""The deferred TaskRun and the outcomes of its trigger. Pure."""
