"""The kind Workflow: its plan, and its reconciler and executor."""
