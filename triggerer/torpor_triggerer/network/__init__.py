"""Connections to servers: name resolution, allowed addresses, limits."""
