"""The five kinds as pydantic models."""
