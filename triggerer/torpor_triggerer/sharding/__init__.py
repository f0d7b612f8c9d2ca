"""Which replica of a pool runs which TaskRuns."""
