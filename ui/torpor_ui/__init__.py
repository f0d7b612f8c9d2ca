"""The page's server: what runs, what waits, and why, with the rights of the caller (ADR 0055)."""
