"""The history of the API server in memory, under the name that the tests use."""

from torpor_local.apiserver.history import Address, Entry, History, Object, cloned, collection, copied, event_of

__all__ = ["Address", "Entry", "History", "Object", "cloned", "collection", "copied", "event_of"]
