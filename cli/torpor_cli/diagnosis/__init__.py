"""Checks an installation for `torpor doctor`: reads facts, judges them, and suggests a remedy."""
