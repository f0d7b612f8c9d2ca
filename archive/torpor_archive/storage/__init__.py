"""Stores bodies and finished runs in SQL, and deletes them when nothing needs them."""
