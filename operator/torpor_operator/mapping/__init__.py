"""Dynamic task mapping: how many instances a task has, and the arguments of each. Pure."""
