"""Seeds by the thousand: played in processes of their own, where hash order is fixed and nothing else is imported."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from tests.simulation.world import Result, play

REPLAY = "python -m tests.simulation --seed {seed} --trace"


def played(seeds: Sequence[int], *, jobs: int, prepare: Callable[[], None] | None = None) -> Iterator[Result]:
    """The results in the order of the seeds; `prepare` is called in each process first."""
    before = os.environ.get("PYTHONHASHSEED")
    os.environ["PYTHONHASHSEED"] = "0"
    try:
        context = multiprocessing.get_context("spawn")
        with context.Pool(jobs, initializer=prepare) as pool:
            yield from pool.imap(play, seeds, chunksize=8)
    finally:
        os.environ.pop("PYTHONHASHSEED") if before is None else os.environ.update(PYTHONHASHSEED=before)


def first_breach(results: Iterable[Result]) -> Result | None:
    """The first seed that broke an invariant."""
    return next((result for result in results if result.breach is not None), None)


def told(result: Result) -> str:
    """A breach in words, and how to see it again."""
    breach = result.breach
    if breach is None:
        return f"seed {result.seed}: every invariant held"
    return f"seed {result.seed}: {breach.invariant}: {breach.what}\nreplay it: {REPLAY.format(seed=result.seed)}"
