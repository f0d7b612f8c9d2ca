"""Moves trigger classes that block the event loop to threads of their own."""
