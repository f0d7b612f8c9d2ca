"""Commands that create and change runs, and wait for them."""
