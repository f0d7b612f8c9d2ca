"""`python -m benchmarks.argo`: Torpor beside Argo Workflows, in one sitting.

With `--program`, an executable `workflow-controller` of Argo's, each runs on control planes of the same kind: a new one
for each row. Without it, Argo's figures are those of another day, scaled by the floors of both days. Prints a Markdown
table and writes JSON.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from torpor_demo.cluster import ROOT
from torpor_dev.progress import say
from torpor_wire import times

from benchmarks.argo import controller, quoted, rows
from benchmarks.argo.rows import TORPOR, Row
from benchmarks.argo.scenarios import CHAIN, FAN, MANY, Scenario
from benchmarks.workflow import bare_pods, graphs
from benchmarks.workflow.measurement import Measurement

_PODS = 1000
_SIZES = {FAN: [100, 1000], MANY: [200], CHAIN: [20]}
_OURS: dict[str, Callable[[int], Awaitable[Measurement]]] = {
    FAN: graphs.fan_out,
    MANY: graphs.many,
    CHAIN: graphs.chain,
}
_ARGOS: dict[str, Callable[[Path, int], Awaitable[Measurement]]] = {
    FAN: controller.fan_out,
    MANY: controller.many,
    CHAIN: controller.chain,
}


def main() -> int:
    """Measure, print and write. Returns 1 if a row could not be measured."""
    given = _parser().parse_args()
    program = given.program.resolve() if given.program else None
    scenarios = [Scenario(kind, size) for kind in _SIZES for size in getattr(given, kind)]
    began, load = times.rfc3339(time.time()), os.getloadavg()
    floor = _measured("floor", bare_pods.floor(given.floor))
    if floor is None:
        return 1
    version = _version(program) if program else quoted.VERSION
    found = [row for scenario in scenarios for row in _pair(scenario, program, version, floor)]
    sitting = {
        "bench": "argo",
        "commit": _commit(),
        "began": began,
        "ended": times.rfc3339(time.time()),
        "load": {"before": load, "after": os.getloadavg()},
        "argo": {"version": version, "measured": program is not None, "flags": controller.FLAGS}
        | {"environ": controller.ENVIRON},
    }
    given.into.write_text(json.dumps(sitting | rows.body(floor, found), indent=1) + "\n")
    sys.stdout.write(rows.table(floor, found))
    return 0 if len(found) == 2 * len(scenarios) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--program", type=Path, help="Argo's workflow-controller; without it, quoted figures are scaled"
    )
    parser.add_argument("--into", type=Path, default=ROOT / "docs/design/figures/argo.json", help="file for the JSON")
    parser.add_argument("--floor", type=int, default=_PODS, help="how many bare pods")
    for name, sizes in _SIZES.items():
        parser.add_argument(f"--{name}", nargs="*", type=int, default=sizes, help="how many tasks")
    return parser


def _pair(scenario: Scenario, program: Path | None, version: str, floor: Measurement) -> Sequence[Row]:
    ours = _measured(f"{scenario.name}, {TORPOR}", _OURS[scenario.kind](scenario.size))
    if program is None:
        name, argos = f"Argo {version} (quoted, scaled)", quoted.scaled(scenario, floor)
    else:
        name = f"Argo {version}"
        argos = _measured(f"{scenario.name}, {name}", _ARGOS[scenario.kind](program, scenario.size))
    pairs = ((TORPOR, ours), (name, argos))
    return [Row(scenario=scenario, system=system, taken=one) for system, one in pairs if one is not None]


def _measured(name: str, measuring: Awaitable[Measurement]) -> Measurement | None:
    began = time.monotonic()
    try:
        taken = asyncio.run(_whole(measuring))
    except (SystemExit, TimeoutError, ExceptionGroup) as error:
        say(f"{name} has failed: {type(error).__name__} {error}")
        return None
    say(f"{name}, {time.monotonic() - began:.0f} s: {taken.wall:.2f} s, {taken.each():.1f} ms of CPU each")
    return taken


async def _whole(measuring: Awaitable[Measurement]) -> Measurement:
    return await measuring


def _version(program: Path) -> str:
    said = subprocess.run((program, "version"), capture_output=True, text=True, check=True).stdout
    found = re.search(r"v\d+\.\d+\.\d+", said)
    return found[0] if found else "of an unknown version"


def _commit() -> str:
    words = ("git", "-C", str(ROOT), "describe", "--always", "--dirty")
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
