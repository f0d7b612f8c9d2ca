"""The boundary to trigger classes: registry, validation, invocation."""
