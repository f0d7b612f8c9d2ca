"""Tasks of the bench. They run in pods, from an image built FROM the worker image."""

import hashlib
import random
import resource
import time
from collections.abc import Sequence
from typing import TypedDict

from torpor import task

_KIB = 1024


class ResultBlock(TypedDict):
    """A result of any size, and how to tell that it came whole."""

    n: int
    sha256: str
    text: str


class Reduced(TypedDict):
    """What became of all of them. `peak` and `peak_before` are bytes of this pod's process, at the end and at first."""

    results: int
    whole: int
    bytes: int
    seconds: float
    peak_before: int
    peak: int


@task
def make(n: int, size: int) -> ResultBlock:
    """A block whose text is different from all others' and has `size` bytes."""
    text = random.Random(n).randbytes(size // 2).hex()
    return ResultBlock(n=n, sha256=_digest(text), text=text)


@task
def reduce(blocks: Sequence[ResultBlock]) -> Reduced:
    """Reads each of them, one by one and in order."""
    before, began, size, whole = _peak(), time.monotonic(), 0, 0
    for n, block in enumerate(blocks):
        size += len(block["text"])
        whole += block["n"] == n and block["sha256"] == _digest(block["text"])
    seconds = time.monotonic() - began
    return Reduced(results=len(blocks), whole=whole, bytes=size, seconds=seconds, peak_before=before, peak=_peak())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB
