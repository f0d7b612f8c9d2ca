"""A real browser for tests and benchmarks of the page: where it is, what it logs, and what it measures."""
