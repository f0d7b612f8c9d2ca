"""Writes outcomes, Events, metrics and health."""
