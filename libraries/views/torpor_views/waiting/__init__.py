"""What deferred TaskRuns wait for: groups of waits on one source, their progress, and statistics. Pure."""
