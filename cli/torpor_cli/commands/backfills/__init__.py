"""The commands of `torpor backfill`."""
