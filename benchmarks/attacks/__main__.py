"""`python -m benchmarks.attacks`: how attacks from one namespace affect another, and the memory of Torpor's processes.

The shipped operator, triggerer and archive run as processes against a real API server, a new one for each attack.
Prints a Markdown table and writes JSON.
"""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from benchmarks.attacks import report
from benchmarks.attacks.attempts import ATTACKS, SECONDS, Attack
from benchmarks.attacks.bystander import latencies
from benchmarks.attacks.environment import AttackEnvironment, open_environment
from benchmarks.attacks.report import AttackCosts, AttackPhase
from benchmarks.attacks.results import results
from benchmarks.harness import program as bench
from benchmarks.harness import usage
from benchmarks.harness.control_plane import NAMESPACE

_RUNS = 10
_SETTLE = 2.0
Run = Callable[[], Awaitable[None]]


def main() -> int:
    """Measure, print and write. Returns 1 if an attack could not be measured."""
    parser = bench.parser(__doc__, "attacks")
    parser.add_argument("--only", nargs="+", choices=ATTACKS, default=list(ATTACKS), help="these attacks alone")
    parser.add_argument("--runs", type=int, default=_RUNS, help="runs of the bystander namespace, before and during it")
    given = parser.parse_args()
    measured = (_measured(name, given.runs) for name in given.only)
    taken = [costs for costs in measured if costs is not None]
    bench.write(given.into, "attacks", goal=report.GOAL, attacks=report.rows(taken))
    sys.stdout.write(report.table(taken))
    return 0 if len(taken) == len(given.only) else 1


def _measured(name: str, runs: int) -> AttackCosts | None:
    try:
        return bench.attempt_alone(name, _attacked(name, ATTACKS[name], runs), lambda taken: report.table([taken]))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _attacked(name: str, attack: Attack, runs: int) -> AttackCosts:
    _end_with_a_word()
    async with open_environment() as on, _runs(on, attack) as run:
        await asyncio.sleep(_SETTLE)
        quiet = await _phase(on, run, runs)
        async with attack.begin(on) as notes:
            attacked = await _phase(on, run, runs)
        notes += [f"the {program} has ended" for program, pid in on.pids.items() if not usage.alive(pid)]
        return AttackCosts(name=name, what=attack.what, quiet=quiet, attacked=attacked, notes=tuple(notes))


@asynccontextmanager
async def _runs(on: AttackEnvironment, attack: Attack) -> AsyncIterator[Run]:
    if attack.on_results:
        async with results(on, NAMESPACE) as runs:
            yield runs.run
    else:
        yield on.bystander.run


async def _phase(on: AttackEnvironment, run: Run, runs: int) -> AttackPhase:
    foreign = usage.OtherLoad()
    async with usage.peaks(on.pids) as peaks:
        measured = await latencies(run, runs, SECONDS)
    return AttackPhase(latencies=measured, memory=peaks.mib(), foreign=foreign.mean())


def _end_with_a_word() -> None:
    """Treat SIGTERM as an interrupt, so that all started processes end."""
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


if __name__ == "__main__":
    sys.exit(main())
