"""Workflow and TaskRun as pydantic models."""
