"""Objects at which an operator process ended: recorded, held back for a while, and reported."""
