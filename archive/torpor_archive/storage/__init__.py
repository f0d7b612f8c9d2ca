"""Bodies and run history in SQL, and how long they are kept."""
