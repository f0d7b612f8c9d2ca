"""Servers on loopback that answer as the services of the providers do."""
