"""Checks an installation: reads what the user may read, and decides what is wrong and what to do."""
