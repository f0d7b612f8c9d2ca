"""Runs many seeds in parallel, in processes with a fixed hash seed."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from tests.simulation.simulation import Result, play

REPLAY = "python -m tests.simulation --seed {seed} --trace"


def play_seeds(seeds: Sequence[int], *, jobs: int, prepare: Callable[[], None] | None = None) -> Iterator[Result]:
    """Yield the results in the order of the seeds. `prepare` runs first in each process."""
    before = os.environ.get("PYTHONHASHSEED")
    os.environ["PYTHONHASHSEED"] = "0"
    try:
        context = multiprocessing.get_context("spawn")
        with context.Pool(jobs, initializer=prepare) as pool:
            yield from pool.imap(play, seeds, chunksize=8)
    finally:
        os.environ.pop("PYTHONHASHSEED") if before is None else os.environ.update(PYTHONHASHSEED=before)


def first_violation(results: Iterable[Result]) -> Result | None:
    """Return the first result with a violation."""
    return next((result for result in results if result.violation is not None), None)


def describe(result: Result) -> str:
    """Describe a violation and how to replay it."""
    violation = result.violation
    if violation is None:
        return f"seed {result.seed}: every invariant held"
    return f"seed {result.seed}: {violation.invariant}: {violation.what}\nreplay it: {REPLAY.format(seed=result.seed)}"
