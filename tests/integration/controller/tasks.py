"""The tasks of these tests. Each writes a line first, so that duplicates are found.

The line is (uid, attempt, segment, launch): at most one process may run user code for each.
"""

import hashlib
import os
import time
from pathlib import Path
from typing import Any

from torpor import BaseSensor, Context, Deferral, PokeResult, context, defer
from torpor.context import RemoteContext
from torpor.triggers import Duration
from torpor_wire import constants, runtime_variable

ENV_NOTES = "TORPOR_TESTS_NOTES"


def note() -> None:
    here = context()
    line = (
        f"{here.uid} {here.attempt} {here.segment} {runtime_variable.parse(os.environ[constants.ENV_RUNTIME]).launch}\n"
    )
    with Path(os.environ[ENV_NOTES]).open("a", encoding="ascii") as notes:
        notes.write(line)


def listed(count: int) -> list[int]:
    note()
    return list(range(count))


def loaded(item: int, seconds: float = 0.0) -> int:
    note()
    time.sleep(seconds)
    return item * 10


def waited(length: str) -> Deferral:
    note()
    return defer(Duration(length), then=resumed, kept=length)


def resumed(event: Any, kept: str) -> str:
    note()
    return kept


def echo(**arguments: Any) -> dict[str, Any]:
    note()
    return arguments


def failed(message: str) -> None:
    note()
    raise RuntimeError(message)


def impatient(length: str) -> Deferral:
    note()
    return defer(Duration("1h"), then=resumed, timeout=length, on_timeout=too_late, kept=length)


def too_late(kept: str) -> str:
    note()
    return f"not within {kept}"


class Blocking(BaseSensor):
    """Is so at its third look, each of which has a pod."""

    def poke(self, context: Context) -> PokeResult:
        note()
        return PokeResult(context.segment >= 2, context.segment)


class Elsewise(BaseSensor):
    """Is so as soon as a triggerer looks; `name` is what tells it from others."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.name = name

    async def poke(self, context: Context) -> PokeResult:
        if not isinstance(context, RemoteContext):
            note()
        digest = hashlib.sha256(self.name.encode()).hexdigest()
        return PokeResult(isinstance(context, RemoteContext), [self.name, context.namespace, digest])


SECRET = "hunter2-and-more"


class Sealing:
    """A trigger with a value that only the triggerer may read."""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return f"{__name__}.Elsewise", {"encrypted__name": SECRET}


def sealed() -> Deferral:
    note()
    return defer(Sealing(), then=opened)


def opened(event: Any) -> str:
    note()
    name, _, digest = event
    matches = digest == hashlib.sha256(SECRET.encode()).hexdigest()
    return f"the triggerer {'knew it' if matches else 'did not know it'}, and printed {name}"
