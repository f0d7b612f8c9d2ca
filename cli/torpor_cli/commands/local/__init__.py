"""The command `torpor run`."""
