"""Creates the runs of Backfills: cache, reconcile loop and writes."""
