"""One module a step; what was released is not changed any more."""
