"""`python -m benchmarks.schedules`: how late, how reliably and at what cost Schedules start runs.

The shipped operator and two triggerers run as processes against a real API server. Each scenario has a new control
plane. Prints a Markdown table and writes JSON.
"""

import argparse
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from benchmarks.harness import program
from benchmarks.harness.figures import Figure
from benchmarks.schedules import stream, ticks, writes
from benchmarks.schedules.system import ScheduleSizes, ScheduleSystem, open_system

SCENARIOS: Mapping[str, Callable[[ScheduleSystem, ScheduleSizes], Awaitable[list[Figure]]]] = {
    "idle": ticks.idle,
    "jitter": ticks.spread,
    "together": ticks.together,
    "stream": stream.stream,
    "writes": writes.writes,
    "flood": writes.flood,
}


def main() -> int:
    """Measure, print and write. Returns 1 if a scenario could not be measured."""
    parser = program.parser(__doc__, "schedules", ScheduleSizes)
    parser.add_argument("--only", nargs="+", choices=SCENARIOS, default=list(SCENARIOS), help="these scenarios alone")
    parser.add_argument("--logs", type=Path, help="folder for the logs of operator and triggerers")
    parser.add_argument("--profile", type=Path, help="folder for profiles of the operator by cProfile, which slow it")
    given = parser.parse_args()
    sizes = program.chosen_sizes(given, ScheduleSizes)
    taken = [program.attempt_alone(name, _measure(name, sizes, given), program.shown_figures) for name in given.only]
    figures = [figure for measured in taken for figure in measured or ()]
    program.report(given, "schedules", figures, sizes=asdict(sizes))
    return 1 if None in taken else 0


async def _measure(name: str, sizes: ScheduleSizes, given: argparse.Namespace) -> list[Figure]:
    logs = given.logs and given.logs / name
    for folder in filter(None, (given.profile, logs)):
        folder.mkdir(parents=True, exist_ok=True)
    async with open_system(logs, given.profile and given.profile / f"{name}.prof") as on:
        return await SCENARIOS[name](on, sizes)


if __name__ == "__main__":
    sys.exit(main())
