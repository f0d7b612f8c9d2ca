"""Generates the tables of docs/reference from the code, so that a page cannot disagree with a model."""
