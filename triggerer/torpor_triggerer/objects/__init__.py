"""Object tasks: creates or changes an object with the rights of its account, and waits for it (ADR 0075)."""
