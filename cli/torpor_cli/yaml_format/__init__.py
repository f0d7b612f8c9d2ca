"""Reads YAML as kubectl does, and writes the YAML of all commands."""
