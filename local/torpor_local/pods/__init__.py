"""Runs pods as processes of this machine."""
