"""CPU time of the views of a run with 10,000 instances: `python -m benchmarks.views`."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from torpor_wire import times

from benchmarks.harness import program
from benchmarks.harness.figures import Figure

INSTANCES = 10_000
STATES = ("Succeeded", "Succeeded", "Succeeded", "Succeeded", "Deferred", "Running", "Scheduled", "Failed")
NOW = 1_795_341_600.0


def main() -> int:
    given = program.parser(__doc__).parse_args()
    import_seconds, views = timed(load)
    body, taskruns = workflow(), [json.loads(json.dumps(taskrun(index))) for index in range(INSTANCES)]
    model, tree, timeline, why = views
    parse_few, light = timed(lambda: model.RunView.parse(body, now=NOW))
    light_tree, _ = timed(lambda: tree.build(light))
    parse, run = timed(lambda: model.RunView.parse(body, taskruns, now=NOW))
    steps = {
        "import": import_seconds,
        "tree of the Workflow alone": parse_few + light_tree,
        f"parse {INSTANCES} TaskRuns": parse,
        "tree": timed(lambda: tree.build(run, unfold=tree.ALL))[0],
        "timeline": timed(lambda: timeline.build(run))[0],
        "why": timed(lambda: why.of_run(run))[0],
    }
    figures = [Figure(name=name, what=name, value=seconds * 1000, unit="ms") for name, seconds in steps.items()]
    program.report(given, "views", figures)
    return 0


def load() -> Any:
    from torpor_views import model, timeline, tree, why  # noqa: PLC0415 - the import is measured

    return model, tree, timeline, why


def timed(step: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    result = step()
    return time.process_time() - started, result


def workflow() -> dict[str, Any]:
    counts = {"total": INSTANCES, "created": INSTANCES, "active": 2500, "deferred": 1250, "failed": 1250}
    load_task = {"name": "load", "python": "etl:load", "expand": [{"name": "row", "over": "${tasks.list.result}"}]}
    return {
        "metadata": {"name": "etl", "namespace": "data", "uid": "w1", "creationTimestamp": times.rfc3339(NOW - 600)},
        "spec": {"tasks": [{"name": "list", "python": "etl:list"}, load_task]},
        "status": {"state": "Running", "tasks": [{"name": "load", "state": "Running", "succeeded": 5000, **counts}]},
    }


def taskrun(index: int) -> dict[str, Any]:
    state = STATES[index % len(STATES)]
    at = times.rfc3339(NOW - 500 + index / 100)
    numbers = {"attempt": 1, "segment": 0, "launch": 0}
    history = [{"state": word, "at": at, **numbers} for word in ("Running", "Deferred", state)]
    trigger = {"class": "http", "kwargs": "{}", "key": "k", "waitsFor": "http example.org"}
    return {
        "metadata": {"name": f"etl-load-{index}", "namespace": "data", "uid": f"t{index}", "creationTimestamp": at},
        "spec": {"workflow": {"name": "etl", "uid": "w1"}, "task": "load", "mapIndex": index, "python": "etl:load"},
        "status": {
            "state": state,
            **numbers,
            "startedAt": at,
            "deferredAt": at,
            "history": history,
            **({"trigger": trigger} if state == "Deferred" else {}),
        },
    }


if __name__ == "__main__":
    sys.exit(main())
