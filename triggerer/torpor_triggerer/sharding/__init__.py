"""Which replica of a pool runs which TaskRuns: membership, assignment, watches."""
