"""The commands of `torpor schedule`."""
