"""What the built-in triggers share. Not public."""
