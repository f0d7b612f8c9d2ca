"""`python -m benchmarks.argo`: Torpor beside Argo Workflows, in one sitting.

With `--program`, an executable `workflow-controller` of Argo's, each runs on control planes of the same kind: a new one
for each row. Without it, Argo's figures are those of another day, scaled by the floors of both days. Prints a Markdown
table and writes JSON.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from torpor_wire import times

from benchmarks.argo import controller, rows, scenarios
from benchmarks.argo.rows import TORPOR, ArgoRow
from benchmarks.argo.scenarios import CHAIN, FAN, MANY, ArgoScenario
from benchmarks.harness import program as bench
from benchmarks.harness.metering import TaskCosts
from benchmarks.workflow import loads
from benchmarks.workflow import scenarios as torpor
from benchmarks.workflow.loads import RunLoad, TaskForm
from benchmarks.workflow.rows import shown

_PODS = 1000
_SIZES = {FAN: [100, 1000], MANY: [200], CHAIN: [20]}
_LOADS: dict[str, Callable[[int, TaskForm], RunLoad]] = {FAN: loads.fan_out, MANY: loads.many, CHAIN: loads.chain}


def main() -> int:
    """Measure, print and write. Returns 1 if a row could not be measured."""
    given = _parser().parse_args()
    program = given.program.resolve() if given.program else None
    forms = [TaskForm(form) for form in given.form]
    wanted = [ArgoScenario(kind, size, form) for form in forms for kind in _SIZES for size in getattr(given, kind)]
    began, load = times.rfc3339(time.time()), os.getloadavg()
    floor = bench.attempt_alone("floor", torpor.floor(given.floor), shown)
    if floor is None:
        return 1
    version = _version(program) if program else scenarios.VERSION
    measured = [row for scenario in wanted for row in _pair(scenario, program, version, floor)]
    argo = {"version": version, "measured": program is not None, "flags": controller.FLAGS}
    loads = {"before": load, "after": os.getloadavg()}
    argo["environ"] = controller.ENVIRON
    bench.write(given.into, "argo", began=began, load=loads, argo=argo, **rows.body(floor, measured))
    sys.stdout.write(rows.table(floor, measured))
    return 0 if len(measured) == 2 * len(wanted) else 1


def _parser() -> argparse.ArgumentParser:
    parser = bench.parser(__doc__, "argo")
    parser.add_argument(
        "--program", type=Path, help="Argo's workflow-controller; without it, quoted figures are scaled"
    )
    parser.add_argument("--floor", type=int, default=_PODS, help="how many bare pods")
    for name, sizes in _SIZES.items():
        parser.add_argument(f"--{name}", nargs="*", type=int, default=sizes, help="how many tasks")
    parser.add_argument(
        "--form",
        nargs="+",
        choices=list(TaskForm),
        default=list(TaskForm),
        help="container: the fair rows, in both systems",
    )
    return parser


def _pair(scenario: ArgoScenario, program: Path | None, version: str, floor: TaskCosts) -> Sequence[ArgoRow]:
    load = _LOADS[scenario.kind](scenario.size, scenario.form)
    torpor_costs = bench.attempt_alone(f"{scenario.name}, {TORPOR}", torpor.measure(load), shown)
    if program is None:
        name, argo_costs = f"Argo {version} (quoted, scaled)", scenarios.scaled(scenario, floor)
    else:
        name = f"Argo {version}"
        argo_costs = bench.attempt_alone(f"{scenario.name}, {name}", controller.measure(program, scenario), shown)
    pairs = ((TORPOR, torpor_costs), (name, argo_costs))
    return [ArgoRow(scenario=scenario, system=system, taken=costs) for system, costs in pairs if costs is not None]


def _version(program: Path) -> str:
    output = subprocess.run((program, "version"), capture_output=True, text=True, check=True).stdout
    version = re.search(r"v\d+\.\d+\.\d+", output)
    return version[0] if version else "of an unknown version"


if __name__ == "__main__":
    sys.exit(main())
