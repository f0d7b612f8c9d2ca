"""The command `torpor`, also installed as `kubectl-torpor`.

No module here imports pydantic, aiohttp or rich when it is imported: ADR 0030 has the budget of a start. Every request
goes through `cluster.http`, and `table` lays out every column.
"""
