"""The objects of one kind as last seen, and the rule that no older word undoes a newer one.

Two things write here: the reflector, with what it lists and watches, and whoever has just written an object and got
its new version back (`absorb`), so that its next decision sees its own write. Each version of an object is reported
once, whichever of them brings it. Versions are compared as integers (KEP-5504). Whatever is at or below `progress`,
the version up to which the reflector has seen everything, and is not held has been deleted: it is not taken up again.
Pure: no I/O, no clock.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from torpor_api.client.decoding import UNREADABLE

T = TypeVar("T")


class Key(NamedTuple):
    """What the API server tells objects of one kind apart by."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Generic[T]):
    """One object came, changed, or went; leaving the selector looks the same as deletion.

    `item` is None for a delete; `previous` is None for an object that is new, or was never readable.
    """

    kind: Literal["upsert", "delete"]
    namespace: str
    name: str
    item: T | None
    previous: T | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """An object that `parse` does not understand; what the store held of it before, it still holds."""

    namespace: str
    name: str
    uid: str
    raw: Mapping[str, Any]
    message: str


Notice: TypeAlias = Change[T] | Unreadable


class _Entry(NamedTuple, Generic[T]):
    uid: str
    version: int
    item: T | None
    unreadable: Unreadable | None
    words: tuple[str, ...]


def no_index(_: object) -> Iterable[str]:
    """The index of a store that has none."""
    return ()


class Store(Generic[T]):
    """Objects by namespace and name, by uid, and by the words that `index` gives each."""

    def __init__(
        self,
        parse: Callable[[dict[str, Any]], T],
        on_change: Callable[[Notice[T]], None],
        *,
        index: Callable[[T], Iterable[str]] = no_index,
    ) -> None:
        self.progress = 0
        self._parse = parse
        self._on_change = on_change
        self._index = index
        self._entries: dict[Key, _Entry[T]] = {}
        self._keys_by_uid: dict[str, Key] | None = None
        self._keys_by_word: dict[str, dict[Key, None]] = {}

    def get(self, namespace: str, name: str) -> T | None:
        """The object, as last readable."""
        entry = self._entries.get(Key(namespace, name))
        return entry.item if entry else None

    def by_uid(self, uid: str) -> T | None:
        """The object with this uid, as last readable. Only who asks once pays for the index."""
        if self._keys_by_uid is None:
            self._keys_by_uid = {entry.uid: key for key, entry in self._entries.items()}
        key = self._keys_by_uid.get(uid)
        return self.get(*key) if key else None

    def values(self) -> Iterator[T]:
        """Every object that was readable."""
        return (entry.item for entry in list(self._entries.values()) if entry.item is not None)

    def indexed(self, word: str) -> list[T]:
        """The objects that `index` gives this word."""
        entries = (self._entries[key] for key in self._keys_by_word.get(word, ()))
        return [entry.item for entry in entries if entry.item is not None]

    def unreadable(self, namespace: str, name: str) -> Unreadable | None:
        """Why the present version of an object cannot be read, if it cannot."""
        entry = self._entries.get(Key(namespace, name))
        return entry.unreadable if entry else None

    def __len__(self) -> int:
        return len(self._entries)

    def absorb(self, raw: dict[str, Any]) -> None:
        """Take up what a list, a watch or a write of ours returned, unless something newer is known.

        Only for an object that the reflector's selector lets through; nothing would ever report that another vanished.
        """
        if version_of(raw) > self.progress:
            self.upsert(raw)

    def upsert(self, raw: dict[str, Any]) -> None:
        """Take up an object that was listed, added or modified, unless something as new is held."""
        key, uid, version = key_of(raw), str(raw["metadata"].get("uid") or ""), version_of(raw)
        held = self._entries.get(key)
        if held and held.version >= version:
            return
        if held and held.uid != uid:
            self._remove(key, held)
            held = None
        try:
            item = self._parse(_whole(raw))
        except Exception as error:  # noqa: BLE001 - a border: whatever one object does to `parse`, the others go on
            unreadable = Unreadable(
                namespace=key.namespace, name=key.name, uid=uid, raw=raw, message=f"{type(error).__name__}: {error}"
            )
            self._hold(key, _Entry(uid, version, held.item if held else None, unreadable, held.words if held else ()))
            self._on_change(unreadable)
        else:
            previous = held.item if held else None
            self._hold(key, _Entry(uid, version, item, None, tuple(self._index(item))))
            self._on_change(Change(kind="upsert", namespace=key.namespace, name=key.name, item=item, previous=previous))

    def delete(self, raw: dict[str, Any]) -> None:
        """Let go of an object that a watch reports as gone, unless a newer one of its name is held."""
        key = key_of(raw)
        held = self._entries.get(key)
        if held and held.version <= version_of(raw):
            self._remove(key, held)

    def advance(self, version: int) -> None:
        """Note that everything up to this version has been seen."""
        self.progress = max(self.progress, version)

    def settle(self, listed: set[Key], version: int) -> None:
        """End a list of this version: what is held, is no newer, and was not in it has vanished unseen."""
        gone = [(key, entry) for key, entry in self._entries.items() if key not in listed and entry.version <= version]
        self.advance(version)
        for key, entry in gone:
            self._remove(key, entry)

    def _hold(self, key: Key, entry: _Entry[T]) -> None:
        self._forget(key)
        self._entries[key] = entry
        if self._keys_by_uid is not None:
            self._keys_by_uid[entry.uid] = key
        for word in entry.words:
            self._keys_by_word.setdefault(word, {})[key] = None

    def _remove(self, key: Key, entry: _Entry[T]) -> None:
        self._forget(key)
        self._on_change(Change(kind="delete", namespace=key.namespace, name=key.name, item=None, previous=entry.item))

    def _forget(self, key: Key) -> None:
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


def _whole(raw: dict[str, Any]) -> dict[str, Any]:
    """The object itself. Raises ValueError where the decoder had to leave members out."""
    if UNREADABLE in raw:
        raise ValueError(raw[UNREADABLE])
    return raw


def key_of(raw: Mapping[str, Any]) -> Key:
    """Namespace (empty for a cluster-scoped object) and name."""
    meta = raw["metadata"]
    return Key(str(meta.get("namespace") or ""), str(meta["name"]))


def version_of(raw: Mapping[str, Any]) -> int:
    """The resourceVersion as the integer that it is."""
    return int(raw["metadata"]["resourceVersion"])
