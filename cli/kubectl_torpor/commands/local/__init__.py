"""`torpor run`."""
