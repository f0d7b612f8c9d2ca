"""Checks the objects of one file against each other."""
