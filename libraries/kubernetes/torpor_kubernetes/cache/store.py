"""Holds the latest known version of each object of one kind. An older version never replaces a newer one.

The reflector writes what it lists and watches. A caller that has written an object adds the response (`absorb`), so
that its next decision sees its own write. Each version of an object is reported once. Versions are compared as integers
(KEP-5504). The progress of a namespace is the version up to which the reflector has seen all of it: an object that
is not in the store at that version was deleted, so an older version of it is ignored. Pure: no I/O, no clock.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from torpor_kubernetes.client.decoding import UNREADABLE

T = TypeVar("T")


class ObjectKey(NamedTuple):
    """Identifies an object within its kind."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreChange(Generic[T]):
    """An object was added, changed or deleted. Leaving the selector looks like a deletion.

    `key` is the store's own, so that an index of its objects need not hold another. `item` is None for a deletion.
    `previous` is None for a new object, and for one that was never readable.
    """

    kind: Literal["upsert", "delete"]
    key: ObjectKey
    item: T | None
    previous: T | None

    @property
    def namespace(self) -> str:
        """The namespace of the object."""
        return self.key.namespace

    @property
    def name(self) -> str:
        """The name of the object."""
        return self.key.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """An object that `parse` rejects. The store keeps its last readable version."""

    namespace: str
    name: str
    uid: str
    raw: Mapping[str, Any]
    message: str


Notice: TypeAlias = StoreChange[T] | Unreadable


class _Entry(NamedTuple, Generic[T]):
    uid: str
    version: int
    item: T | None
    unreadable: Unreadable | None
    words: tuple[str, ...]


def no_index(_: object) -> Iterable[str]:
    """The index function of a store without an index."""
    return ()


class CacheStore(Generic[T]):
    """Objects by namespace and name, by uid, and by the words that `index` returns for each."""

    def __init__(
        self,
        parse: Callable[[dict[str, Any]], T],
        on_change: Callable[[Notice[T]], None],
        *,
        index: Callable[[T], Iterable[str]] = no_index,
    ) -> None:
        self._progress: dict[str | None, int] = {}
        """By namespace that is listed by itself; None for a list of all namespaces."""
        self._parse = parse
        self._on_change = on_change
        self._index = index
        self._entries: dict[ObjectKey, _Entry[T]] = {}
        self._keys_by_uid: dict[str, ObjectKey] | None = None
        self._keys_by_word: dict[str, dict[ObjectKey, None]] = {}

    def get(self, namespace: str, name: str) -> T | None:
        """Return the last readable version of the object."""
        entry = self._entries.get(ObjectKey(namespace, name))
        return entry.item if entry else None

    def by_uid(self, uid: str) -> T | None:
        """Return the last readable version of the object with this uid. The first call builds the index."""
        if self._keys_by_uid is None:
            self._keys_by_uid = {entry.uid: key for key, entry in self._entries.items()}
        key = self._keys_by_uid.get(uid)
        return self.get(*key) if key else None

    def values(self) -> Iterator[T]:
        """Iterate over the last readable version of all objects."""
        return (entry.item for entry in list(self._entries.values()) if entry.item is not None)

    def indexed(self, word: str) -> list[T]:
        """Return the objects for which `index` returned this word."""
        entries = (self._entries[key] for key in self._keys_by_word.get(word, ()))
        return [entry.item for entry in entries if entry.item is not None]

    def count_indexed(self, word: str) -> int:
        """Return the number of objects for which `index` returned this word."""
        return len(self._keys_by_word.get(word, ()))

    def unreadable(self, namespace: str, name: str) -> Unreadable | None:
        """Return why the current version of an object cannot be read, if so."""
        entry = self._entries.get(ObjectKey(namespace, name))
        return entry.unreadable if entry else None

    def __len__(self) -> int:
        return len(self._entries)

    def absorb(self, raw: dict[str, Any]) -> None:
        """Add an object from a list, a watch or the response to a write, unless a newer version is known.

        The object must match the reflector's selector; otherwise its deletion would never be reported.
        """
        if version_of(raw) > self.progress(raw["metadata"].get("namespace")):
            self.upsert(raw)

    def upsert(self, raw: dict[str, Any]) -> None:
        """Add a listed, added or modified object, unless the store has this version or a newer one."""
        key, uid, version = key_of(raw), str(raw["metadata"].get("uid") or ""), version_of(raw)
        current = self._entries.get(key)
        if current and current.version >= version:
            return
        if current and current.uid != uid:
            self._remove(key, current)
            current = None
        try:
            item = self._parse(_require_complete(raw))
        except Exception as error:  # noqa: BLE001 - `parse` may raise anything; one object must not break the cache
            unreadable = Unreadable(
                namespace=key.namespace, name=key.name, uid=uid, raw=raw, message=f"{type(error).__name__}: {error}"
            )
            self._put(
                key,
                _Entry(uid, version, current.item if current else None, unreadable, current.words if current else ()),
            )
            self._on_change(unreadable)
        else:
            self._put_item(key, uid, version, item, previous=current.item if current else None)

    def unreadable_objects(self) -> list[Unreadable]:
        """Return the objects whose current version cannot be read."""
        return [entry.unreadable for entry in self._entries.values() if entry.unreadable is not None]

    def read_again(self, unreadable: Unreadable) -> None:
        """Parse an unreadable object again, unless it has changed. The cause may be over."""
        key = ObjectKey(unreadable.namespace, unreadable.name)
        current = self._entries.get(key)
        if current is None or current.unreadable is not unreadable:
            return
        try:
            item = self._parse(_require_complete(dict(unreadable.raw)))
        except Exception:  # noqa: BLE001 - `parse` may raise anything; `upsert` has reported why
            return
        self._put_item(key, current.uid, current.version, item, previous=current.item)

    def delete(self, raw: dict[str, Any]) -> None:
        """Remove an object that a watch reports as deleted, unless the store has a newer one of that name."""
        key = key_of(raw)
        current = self._entries.get(key)
        if current and current.version <= version_of(raw):
            self._remove(key, current)

    def progress(self, namespace: str | None) -> int:
        """Return the version up to which everything in the namespace has been seen."""
        return max(self._progress.get(None, 0), self._progress.get(namespace, 0))

    def advance(self, version: int, namespace: str | None = None) -> None:
        """Record that everything up to this version has been seen, in the namespace or in all."""
        self._progress[namespace] = max(self._progress.get(namespace, 0), version)

    def settle(self, listed: set[ObjectKey], version: int, namespace: str | None = None) -> None:
        """Finish a list of this version: remove all objects of its namespace that are not newer and were not listed."""
        gone = [
            (key, entry)
            for key, entry in self._entries.items()
            if key not in listed and entry.version <= version and namespace in (None, key.namespace)
        ]
        self.advance(version, namespace)
        for key, entry in gone:
            self._remove(key, entry)

    def _put_item(self, key: ObjectKey, uid: str, version: int, item: T, *, previous: T | None) -> None:
        self._put(key, _Entry(uid, version, item, None, tuple(self._index(item))))
        self._on_change(StoreChange(kind="upsert", key=key, item=item, previous=previous))

    def _put(self, key: ObjectKey, entry: _Entry[T]) -> None:
        self._forget(key)
        self._entries[key] = entry
        if self._keys_by_uid is not None:
            self._keys_by_uid[entry.uid] = key
        for word in entry.words:
            self._keys_by_word.setdefault(word, {})[key] = None

    def _remove(self, key: ObjectKey, entry: _Entry[T]) -> None:
        self._forget(key)
        self._on_change(StoreChange(kind="delete", key=key, item=None, previous=entry.item))

    def _forget(self, key: ObjectKey) -> None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        if self._keys_by_uid is not None:
            self._keys_by_uid.pop(entry.uid, None)
        for word in entry.words:
            keys = self._keys_by_word.get(word, {})
            keys.pop(key, None)
            if not keys:
                self._keys_by_word.pop(word, None)


def _require_complete(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the object. Raises ValueError if the decoder could not read all of it."""
    if UNREADABLE in raw:
        raise ValueError(raw[UNREADABLE])
    return raw


def key_of(raw: Mapping[str, Any]) -> ObjectKey:
    """Return the namespace (empty for a cluster-scoped object) and the name."""
    meta = raw["metadata"]
    return ObjectKey(str(meta.get("namespace") or ""), str(meta["name"]))


def version_of(raw: Mapping[str, Any]) -> int:
    """Return the resourceVersion as an integer."""
    return int(raw["metadata"]["resourceVersion"])
