"""`python -m benchmarks.triggerer`: what the triggerer takes and costs, beside what Airflow's was measured to.

The shipped triggerer as a process against a real API server, no operator. Prints a Markdown table and writes JSON.
Airflow's figures are quoted, unless a file has those of another run of it.
"""

import argparse
import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields
from pathlib import Path

from torpor_demo.cluster import ROOT
from torpor_dev.progress import say
from torpor_wire import times

from benchmarks.triggerer import airflow, blocked, churn, figures, fires, moves, plane, shares, starts, waits
from benchmarks.triggerer.environment import Environment, Sizes
from benchmarks.triggerer.figures import Figure

SCENARIOS: Mapping[str, Callable[[Environment], Awaitable[list[Figure]]]] = {
    "start": starts.tasks,
    "timers": starts.timers,
    "polls": starts.polls,
    "lists": starts.lists,
    "idle": starts.idle,
    "burst": fires.at_once,
    "steady": fires.steady,
    "failover": moves.failover,
    "shared": shares.shared,
    "blocked": blocked.blocked,
    "churn": churn.churn,
}


def main() -> int:
    """Measure, print and write; 1 where a scenario could not be measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SCENARIOS, default=list(SCENARIOS), help="these scenarios alone")
    parser.add_argument(
        "--into", type=Path, default=ROOT / "docs/design/figures/triggerer.json", help="file for the JSON"
    )
    parser.add_argument("--logs", type=Path, help="a folder in which to leave the triggerers' logs")
    parser.add_argument("--airflow", type=Path, help="JSON of what an Airflow beside was measured to, by name")
    for each in fields(Sizes):
        parser.add_argument(f"--{each.name}", type=type(each.default), default=each.default)
    given = parser.parse_args()
    sizes = Sizes(**{each.name: getattr(given, each.name) for each in fields(Sizes)})
    beside = airflow.column(given.airflow)
    found, failed = asyncio.run(_measure(given.only, sizes, given.logs, lambda taken: figures.table(taken, *beside)))
    given.into.write_text(figures.written(found, commit=_commit(), taken=times.rfc3339(time.time())) + "\n")
    sys.stdout.write(figures.table(found, *beside))
    return 1 if failed else 0


async def _measure(
    names: list[str], sizes: Sizes, logs: Path | None, told: Callable[[list[Figure]], str]
) -> tuple[list[Figure], list[str]]:
    found: list[Figure] = []
    failed: list[str] = []
    async with plane.plane(logs) as at:
        environment = Environment(plane=at, waits=await waits.opened(at), sizes=sizes)
        for name in names:
            began = time.monotonic()
            try:
                taken = await SCENARIOS[name](environment)
            except (SystemExit, TimeoutError, ExceptionGroup) as error:
                say(f"{name} has failed: {type(error).__name__} {error}")
                failed.append(name)
                await environment.waits.clear()
                continue
            say(f"{name}, {time.monotonic() - began:.0f} s\n{told(taken)}")
            found += taken
    return found, failed


def _commit() -> str:
    words = ("git", "-C", str(ROOT), "describe", "--always", "--dirty")
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
