"""`python -m benchmarks.profile.sampled FILE MODULE ARGUMENT...`: runs a module, and samples its stack by CPU time.

SIGUSR1 begins, SIGUSR2 ends and writes the counts of each stack as JSON. A timer of the kernel that counts processor
time sends a signal; Python handles it between two instructions, so that the time of a function in C is its caller's.
It needs no package, no second process, and no right to read another process.
"""

import json
import runpy
import signal
import sys
from collections import Counter
from pathlib import Path
from types import FrameType

EVERY = 0.004
"""Seconds of processor time between two samples; a kernel with coarser ticks takes fewer."""
_DEPTH = 60


def install(into: Path) -> None:
    """Handle the signals."""
    counts: Counter[tuple[str, ...]] = Counter()

    def sample(_: int, frame: FrameType | None) -> None:
        counts[_stack(frame)] += 1

    def begin(_: int, __: FrameType | None) -> None:
        counts.clear()
        signal.setitimer(signal.ITIMER_VIRTUAL, EVERY, EVERY)

    def end(_: int, __: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        partial = into.with_suffix(".partial")
        partial.write_text(json.dumps([[stack, count] for stack, count in counts.items()]))
        partial.rename(into)

    for sign, handler in ((signal.SIGVTALRM, sample), (signal.SIGUSR1, begin), (signal.SIGUSR2, end)):
        signal.signal(sign, handler)
        signal.siginterrupt(sign, False)


def _stack(frame: FrameType | None) -> tuple[str, ...]:
    """The innermost function first."""
    names: list[str] = []
    while frame is not None and len(names) < _DEPTH:
        names.append(f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    return tuple(names)


if __name__ == "__main__":
    install(Path(sys.argv[1]))
    module = sys.argv[2]
    sys.argv = [module, *sys.argv[3:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
