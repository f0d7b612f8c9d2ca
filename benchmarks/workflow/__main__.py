"""`python -m benchmarks.workflow`: the speed and the cost of starting pods.

The shipped operator runs as a process against a real API server and scheduler; nodes, pods and workers are simulated.
Prints a Markdown table and writes JSON.
"""

import sys
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import asdict
from typing import Any

from benchmarks.harness import program
from benchmarks.harness.metering import TaskCosts
from benchmarks.profile import report, run
from benchmarks.workflow import loads, rows, scenarios
from benchmarks.workflow.loads import RunLoad, TaskForm

_BESIDE = 10_000
_PROFILED = 1000
_KINDS: Mapping[str, Callable[[int], Coroutine[Any, Any, TaskCosts]]] = {
    "floor": scenarios.floor,
    "fan": lambda count: (
        scenarios.fan_out_beside(count) if count >= _BESIDE else scenarios.measure(loads.fan_out(count))
    ),
    "chain": lambda length: scenarios.measure(loads.chain(length)),
    "many": lambda count: scenarios.measure(loads.many(count)),
}
_LOADS: Mapping[str, Callable[[int, TaskForm], RunLoad]] = {
    "fan": loads.fan_out,
    "chain": loads.chain,
    "many": loads.many,
}
_COUNTS: Mapping[str, list[int]] = {"floor": [1000], "fan": [100, 1000, _BESIDE], "chain": [50], "many": [200]}


def main() -> int:
    """Measure, print and write. Returns 1 if a row could not be measured."""
    parser = program.parser(__doc__, "workflow")
    parser.add_argument("--only", nargs="+", choices=_KINDS, default=list(_KINDS), help="these alone")
    for name, counts in _COUNTS.items():
        parser.add_argument(f"--{name}", nargs="+", type=int, default=counts, help="how many")
    parser.add_argument("--profile", choices=_LOADS, help="print the cost of a task of this load instead")
    parser.add_argument("--tasks", type=int, default=_PROFILED, help="how many tasks the profiled load has")
    parser.add_argument("--form", choices=list(TaskForm), default=TaskForm.PYTHON, help="what they run")
    given = parser.parse_args()
    if given.profile:
        return _profiled(_LOADS[given.profile](given.tasks, TaskForm(given.form)))
    wanted = [(kind, count) for kind in _KINDS if kind in given.only for count in getattr(given, kind)]
    measured: dict[str, list[TaskCosts]] = {kind: [] for kind in _KINDS}
    for kind, count in wanted:
        taken = program.attempt_alone(f"{kind} of {count}", _KINDS[kind](count), rows.shown)
        measured[kind] += [] if taken is None else [taken]
    taken_rows = [taken for several in measured.values() for taken in several]
    figures = rows.figures(measured["floor"], measured["fan"], measured["chain"], measured["many"])
    program.report(
        given, "workflow", figures, column=(rows.HEAD, rows.BESIDE), rows=[asdict(row) for row in taken_rows]
    )
    return 0 if len(taken_rows) == len(wanted) else 1


def _profiled(load: RunLoad) -> int:
    report.show_profile(f"{load.name}, {load.form} tasks", run.profiled(load))
    return 0


if __name__ == "__main__":
    sys.exit(main())
