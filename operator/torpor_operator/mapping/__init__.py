"""Dynamic task mapping: how many instances a task has, and what each is given. Pure."""
