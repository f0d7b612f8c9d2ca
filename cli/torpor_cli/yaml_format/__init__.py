"""YAML as kubectl reads it: scalars, and the one writer of all commands."""
