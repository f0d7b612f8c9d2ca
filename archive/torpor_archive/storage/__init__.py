"""Stores bodies and finished runs in SQL, and deletes what nothing needs."""
