"""The kind Schedule: its plan, and its reconciler, executor and cache."""
