"""The selectors of the API server in memory, under the name that the tests use."""

from torpor_local.apiserver.selection import Selection

__all__ = ["Selection"]
