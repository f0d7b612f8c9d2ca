"""Code that the built-in triggers share. Not public."""
