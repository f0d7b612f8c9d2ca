"""`python -m benchmarks.attacks`: how attacks from one namespace affect another, and the memory of Torpor's processes.

The shipped operator, triggerer and archive run as processes against a real API server, a new one for each attack.
Prints a Markdown table and writes JSON.
"""

import argparse
import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import ClientError
from torpor_demo.cluster import ROOT
from torpor_dev.progress import say
from torpor_kubernetes.client.errors import ApiError
from torpor_wire import times

from benchmarks.attacks import memory, report
from benchmarks.attacks.attempts import ATTACKS, SECONDS, Attack
from benchmarks.attacks.bystander import latencies
from benchmarks.attacks.environment import Environment, environment
from benchmarks.attacks.report import Measurement, Phase
from benchmarks.attacks.results import results
from benchmarks.workflow.plane import NAMESPACE

_RUNS = 10
_SETTLE = 2.0
Run = Callable[[], Awaitable[None]]


def main() -> int:
    """Measure, print and write. Returns 1 if an attack could not be measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=ATTACKS, default=list(ATTACKS), help="these attacks alone")
    parser.add_argument("--runs", type=int, default=_RUNS, help="runs of the bystander namespace, before and during it")
    parser.add_argument(
        "--into", type=Path, default=ROOT / "docs/design/figures/attacks.json", help="file for the JSON"
    )
    given = parser.parse_args()
    taken = [one for name in given.only if (one := _measured(name, given.runs)) is not None]
    given.into.write_text(report.written(taken, commit=_commit(), at=times.rfc3339(time.time())) + "\n")
    sys.stdout.write(report.table(taken))
    return 0 if len(taken) == len(given.only) else 1


def _measured(name: str, runs: int) -> Measurement | None:
    began = time.monotonic()
    try:
        taken = asyncio.run(_attacked(name, ATTACKS[name], runs))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    except (SystemExit, OSError, ExceptionGroup, ApiError, ClientError) as error:
        say(f"{name} has failed: {type(error).__name__} {error}")
        return None
    say(f"{name}, {time.monotonic() - began:.0f} s\n{report.table([taken])}")
    return taken


async def _attacked(name: str, attack: Attack, runs: int) -> Measurement:
    _end_with_a_word()
    async with environment() as on, _runs(on, attack) as run:
        await asyncio.sleep(_SETTLE)
        quiet = await _phase(on, run, runs)
        async with attack.begin(on) as said:
            attacked = await _phase(on, run, runs)
        said += [f"the {one} has ended" for one, pid in on.pids.items() if not memory.alive(pid)]
        return Measurement(name=name, what=attack.what, quiet=quiet, attacked=attacked, said=tuple(said))


@asynccontextmanager
async def _runs(on: Environment, attack: Attack) -> AsyncIterator[Run]:
    if attack.on_results:
        async with results(on, NAMESPACE) as made:
            yield made.run
    else:
        yield on.bystander.run


async def _phase(on: Environment, run: Run, runs: int) -> Phase:
    foreign = memory.Foreign()
    async with memory.peaks(on.pids) as peaks:
        found = await latencies(run, runs, SECONDS)
    return Phase(latencies=found, memory=peaks.mib(), foreign=foreign.mean())


def _end_with_a_word() -> None:
    """Treat SIGTERM as an interrupt, so that all started processes end."""
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


def _commit() -> str:
    words = ("git", "-C", str(ROOT), "describe", "--always", "--dirty")
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
