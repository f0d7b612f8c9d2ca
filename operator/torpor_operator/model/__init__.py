"""The values that a plan reads, and the actions that it returns. Pure."""
