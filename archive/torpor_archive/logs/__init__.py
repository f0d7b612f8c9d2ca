"""Reads the logs of pods and waits, and stores and deletes them."""
