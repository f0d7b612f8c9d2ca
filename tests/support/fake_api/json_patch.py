"""The JSON Patch of the API server in memory, under the name that the tests use."""

from torpor_local.apiserver.json_patch import HISTORY, PatchError, apply

__all__ = ["HISTORY", "PatchError", "apply"]
