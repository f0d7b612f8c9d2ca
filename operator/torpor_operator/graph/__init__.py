"""The task graph: dependencies and trigger rules. Pure."""
