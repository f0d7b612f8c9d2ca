"""Which objects are held back, and until when. Pure: values and the annotation that stores them.

An object at which a process ended waits: 10 s after the first time, then 40 s, 160 s, and an hour at most. A namespace
with three such objects waits as a whole, so that an author of many of them ends fewer and fewer processes.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Self

from torpor_operator.quarantine.object_ref import ObjectRef, read_ref

_FIRST = 10.0
_FACTOR = 4.0
_LONGEST = 3600.0
_PROBATION = 3600.0
"""Seconds in which a good pass does not end the quarantine: another end of a process counts as a further one."""
_KEPT = 86_400.0
"""Seconds after which an object is forgotten at which no process ended again."""
_NAMESPACE_OBJECTS = 3
MAX_ENTRIES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An object at which processes ended. `last` is in seconds since the epoch."""

    ref: ObjectRef
    deaths: int
    last: float

    @property
    def until(self) -> float:
        """When the operator works on the object again."""
        return self.last + _delay(self.deaths)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Why an object is held back, and until when (seconds since the epoch).

    `deaths`: how many processes ended at it. `namespace_objects`: how many objects of its namespace are in quarantine,
    if the whole namespace is held back; otherwise zero.
    """

    until: float
    deaths: int
    namespace_objects: int = 0


@dataclass(frozen=True, slots=True)
class Entries:
    """All objects in quarantine."""

    by_ref: dict[ObjectRef, Entry] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Entry]:
        """The entries, in no order."""
        return iter(self.by_ref.values())

    def may_forget(self, ref: ObjectRef, now: float) -> bool:
        """Whether there is an entry of the object, and no process ended at it lately."""
        entry = self.by_ref.get(ref)
        return entry is not None and not 0.0 <= now - entry.last < _PROBATION

    def with_death(self, ref: ObjectRef, now: float) -> Self:
        """The entries after a process ended while it worked on an object."""
        former = self.by_ref.get(ref)
        deaths = 1 if former is None else former.deaths + 1
        return self._newest({**self.by_ref, ref: Entry(ref=ref, deaths=deaths, last=now)}.values())

    def without(self, ref: ObjectRef) -> Self:
        """The entries after the operator has worked on an object."""
        return self._newest(entry for entry in self if entry.ref != ref)

    def merged(self, other: Iterable[Entry], now: float) -> Self:
        """The entries together with those of another process; the later one of an object counts."""
        merged = dict(self.by_ref)
        for entry in other:
            known = merged.get(entry.ref)
            if known is None or (entry.last, entry.deaths) > (known.last, known.deaths):
                merged[entry.ref] = entry
        return self._newest(entry for entry in merged.values() if now - entry.last < _KEPT)

    def hold(self, ref: ObjectRef, now: float) -> Hold | None:
        """Why an object waits now; None if it does not. A clock that was set back holds nothing for longer."""
        entry = self.by_ref.get(ref)
        deaths = 0 if entry is None else entry.deaths
        neighbours = [each for each in self if each.ref.namespace == ref.namespace]
        last = max((each.last for each in neighbours), default=0.0)
        extra = len(neighbours) - _NAMESPACE_OBJECTS
        namespace_until = last + _delay(extra + 1) if extra >= 0 else 0.0
        until = max(entry.until if entry is not None else 0.0, namespace_until)
        if not now < until <= now + _LONGEST:
            return None
        return Hold(until=until, deaths=deaths, namespace_objects=len(neighbours) if until == namespace_until else 0)

    def to_text(self) -> str:
        """The value of the annotation."""
        return json.dumps([[list(entry.ref), entry.deaths, round(entry.last, 3)] for entry in self])

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the annotation. Anything else is ignored: a writer of the Lease can write any text."""
        try:
            stored = json.loads(text)
        except (ValueError, RecursionError):
            return cls()
        return cls._newest(_read_entries(stored))

    @classmethod
    def _newest(cls, entries: Iterable[Entry]) -> Self:
        newest = sorted(entries, key=lambda entry: entry.last, reverse=True)[:MAX_ENTRIES]
        return cls({entry.ref: entry for entry in newest})


def _delay(deaths: int) -> float:
    return float(min(_FIRST * _FACTOR ** min(deaths - 1, 10), _LONGEST))


def _read_entries(stored: object) -> Iterator[Entry]:
    for each in stored if isinstance(stored, list) else []:
        match each:
            case [value, int(deaths), float() | int() as last] if (ref := read_ref(value)) and deaths > 0:
                yield Entry(ref=ref, deaths=deaths, last=float(last))
