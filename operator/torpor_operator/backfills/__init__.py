"""The kind Backfill: its plan, and its reconciler, executor and cache."""
