"""Large results and arguments in the archive."""
