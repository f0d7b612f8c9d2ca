"""Decides which runs a Schedule starts and when its sources wait, and computes its status. Pure."""
