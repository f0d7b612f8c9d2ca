"""What the workflows of these tests run: each writes a line before it does anything, so that doubles are seen.

The line is (uid, attempt, segment, launch): what at most one process may run user code for.
"""

import os
import time
from pathlib import Path
from typing import Any

from torpor import Deferral, context, defer
from torpor.triggers import Duration
from torpor_wire import keys

ENV_NOTES = "TORPOR_TESTS_NOTES"


def note() -> None:
    here = context()
    line = f"{here.uid} {here.attempt} {here.segment} {os.environ[keys.ENV_LAUNCH]}\n"
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


def told(**arguments: Any) -> dict[str, Any]:
    note()
    return arguments


def failed(message: str) -> None:
    note()
    raise RuntimeError(message)
