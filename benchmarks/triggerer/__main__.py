"""`python -m benchmarks.triggerer`: what the triggerer takes and costs, beside what Airflow's was measured to.

The shipped triggerer as a process against a real API server, no operator. Prints a Markdown table and writes JSON.
Airflow's figures are quoted, unless a file has those of another run of it.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from benchmarks.harness import program
from benchmarks.harness.control_plane import open_plane
from benchmarks.harness.figures import Figure
from benchmarks.triggerer import fires, load, starts, waits
from benchmarks.triggerer.waits import TriggererBench, TriggererSizes

SCENARIOS: Mapping[str, Callable[[TriggererBench], Awaitable[list[Figure]]]] = {
    "start": starts.tasks,
    "timers": starts.timers,
    "polls": starts.polls,
    "lists": starts.lists,
    "idle": starts.idle,
    "burst": fires.at_once,
    "steady": fires.steady,
    "failover": load.failover,
    "shared": load.shared,
    "blocked": load.blocked,
    "churn": load.churn,
}
# Airflow 3.3.2 on PostgreSQL 15 with its defaults but for a raised capacity, on two shared cores, one run a cell.
QUOTED: Mapping[str, str] = {
    "start_triggers_5000": "42.8 s",
    "start_triggers_20000": "547 s (19,500)",
    "rss_slope_trigger": "25.4 KiB (PSS, 1,000 to 19,500)",
    "pss_5000": "457 MiB",
    "pss_20000": "809 MiB (19,500)",
    "idle_cpu_5000": "2.4 s, and 0.7 s of PostgreSQL",
    "burst_seconds_5000": "53.7 s",
    "burst_rate_5000": "93 /s",
    "steady_p50": "1,540 ms, nothing idle beside",
    "steady_p99": "7,500 ms, nothing idle beside",
    "failover_5000": "46 s",
}
QUOTED_HEAD = "Airflow 3.3.2 (quoted, not measured here)"


def main() -> int:
    """Measure, print and write. Returns 1 if a scenario could not be measured."""
    parser = program.parser(__doc__, "triggerer", TriggererSizes)
    parser.add_argument("--only", nargs="+", choices=SCENARIOS, default=list(SCENARIOS), help="these scenarios alone")
    parser.add_argument("--logs", type=Path, help="folder for the triggerers' logs")
    parser.add_argument("--airflow", type=Path, help="JSON of the figures of an Airflow, by name")
    given = parser.parse_args()
    taken = asyncio.run(_measure(given.only, program.chosen_sizes(given, TriggererSizes), given.logs))
    column = (QUOTED_HEAD, QUOTED)
    if given.airflow:
        column = ("Airflow (measured here)", json.loads(given.airflow.read_text()))
    program.report(given, "triggerer", [figure for figures in taken for figure in figures or ()], column=column)
    return 1 if None in taken else 0


async def _measure(names: list[str], sizes: TriggererSizes, logs: Path | None) -> list[list[Figure] | None]:
    measured = []
    async with open_plane(nodes=0, logs=logs) as plane:
        bench = TriggererBench(plane=plane, waits=await waits.opened(plane), sizes=sizes)
        for name in names:
            taken = await program.attempt(name, SCENARIOS[name](bench), program.shown_figures)
            if taken is None:
                await bench.waits.clear()
            measured.append(taken)
    return measured


if __name__ == "__main__":
    sys.exit(main())
