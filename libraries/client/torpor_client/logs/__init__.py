"""Which logs a run has, their lines, and the order of these. Pure."""
