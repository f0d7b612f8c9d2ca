"""What the page shows, as JSON: rows, heads, columns. Pure."""
