"""What recording the object of each step costs the event loop of the operator: `python -m benchmarks.guard`."""

import asyncio
import time
from collections.abc import Coroutine
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from torpor_operator.quarantine.object_ref import ObjectRef
from torpor_operator.quarantine.work_journal import WorkJournal
from torpor_operator.quarantine.work_tracker import WorkTracker

from benchmarks.harness import program
from benchmarks.harness.figures import Figure

STEPS = 200_000
REPEATS = 5
REF = ObjectRef("Workflow", "a-namespace", "a-workflow-of-some-length", "6f1c7d0e-4a0b-4e59-9c57-d9ad4b5c2f11")


async def _work() -> None:
    for _ in range(STEPS):
        await asyncio.sleep(0)


def _seconds(work: Coroutine[Any, Any, None]) -> float:
    began = time.thread_time()
    asyncio.run(work)
    return time.thread_time() - began


def main() -> int:
    """Print the CPU time of a step with and without the record, each the least of several runs."""
    given = program.parser(__doc__).parse_args()
    with TemporaryDirectory() as folder:
        tracker = WorkTracker(WorkJournal.open(Path(folder) / "journal"), cpu_time=time.thread_time)
        plain, tracked = [], []
        for _ in range(REPEATS):
            plain.append(_seconds(_work()))
            tracked.append(_seconds(tracker.track(REF, _work())))
    seconds = {"step": min(plain), "recorded step": min(tracked)}
    figures = [
        Figure(name=name, what=name, value=took / STEPS * 1e6, unit="us of CPU") for name, took in seconds.items()
    ]
    program.report(given, "guard", figures)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
