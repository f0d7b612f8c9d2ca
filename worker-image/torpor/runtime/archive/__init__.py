"""Reads and writes large results and arguments in the archive."""
