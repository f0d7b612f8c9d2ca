"""The kinds of Torpor as pydantic models."""
