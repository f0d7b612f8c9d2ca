"""Renders views as text for a terminal."""
