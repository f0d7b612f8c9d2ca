"""Decides who may read and write, from token and access reviews."""
