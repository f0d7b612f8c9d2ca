"""Parsed objects that the caches of several identities have in common. Pure.

An object of one uid and resourceVersion has one content. An identity that got it from the API server may share what
another one has parsed of it, so memory does not grow with each identity. Nothing is found here without having been
received first.
"""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class SharedObjects(Generic[T]):
    """The parsed objects of one kind that some cache holds."""

    def __init__(self, parse: Callable[[Mapping[str, Any]], T]) -> None:
        self._parse = parse
        self._known: WeakValueDictionary[tuple[str, str], T] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._known)

    def parse(self, raw: Mapping[str, Any]) -> T:
        """Return what an object that was received contains."""
        metadata = raw["metadata"]
        version = (str(metadata.get("uid") or ""), str(metadata.get("resourceVersion") or ""))
        known = self._known.get(version)
        if known is None:
            known = self._parse(raw)
            if all(version):
                self._known[version] = known
        return known
