"""Shows a local run while it runs and at its end: the tree or transitions, results, failures, and where the rest is."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from torpor_client.runs import run_state
from torpor_views import task_graph
from torpor_views.model import InstanceView, RunView
from torpor_views.notifications import is_notification
from torpor_wire import names
from torpor_wire.state import State

from torpor_cli import output, yaml_format
from torpor_cli.following import live
from torpor_cli.following.live import RunCopy, View

Object = dict[str, Any]
LOGS = "logs"
_LOG_LINES = 10
_LOG_TAIL = 32 * 1024
_FAILURES = 5
_RESULT = 4_000
_LONG = 10 * _RESULT
"""A value of this length is cut in any case, and takes seconds to write as YAML."""
_LINE = 120


def as_json(workflow: Object, results: Mapping[str, Any], run: RunView, folder: Path) -> dict[str, Any]:
    """Return the outcome as an object of `-o json`."""
    return {
        "run": run.name,
        "state": run_state.word_of(workflow),
        "message": run_state.message_of(workflow),
        "results": dict(results),
        "failures": [_failure(instance) for instance in failed(run)],
        "folder": str(folder),
    }


def _failure(instance: InstanceView) -> dict[str, Any]:
    return {"task": instance.ref, "reason": instance.reason, "message": instance.message}


def failed(run: RunView) -> list[InstanceView]:
    """Return the instances that failed."""
    return [instance for instance in run.all_instances() if instance.state is State.FAILED]


def result_lines(workflow: Object, results: Mapping[str, Any]) -> Iterator[str]:
    """Yield the result of the run; without one, those of the last tasks, which are those that no other task uses."""
    if (text := (workflow.get("status") or {}).get("result")) is not None:
        yield f"result:{_shown(json.loads(text))}"
        return
    graph = task_graph.build(workflow["spec"])
    used = {name for before in graph.before.values() for name in before}
    for name in graph.order:
        if name in results and name not in used and results[name] is not None:
            yield f"result of {name}:{_shown(results[name])}"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else _as_yaml(value)
    text = text if len(text) <= _RESULT else f"{text[:_RESULT]}... ({len(text):,} characters)"
    return f"\n{text}" if "\n" in text else f" {text}"


def _as_yaml(value: Any) -> str:
    """Return a value as YAML, in which a text of several lines is readable. A short value is one line of JSON."""
    short = json.dumps(value, ensure_ascii=False)
    if (len(short) <= _LINE and "\\n" not in short) or len(short) > _LONG:
        return short
    return yaml_format.dump(value, readable=True).rstrip()


def failure_lines(run: RunView, folder: Path) -> Iterator[str]:
    """Yield the failures, each with the last lines of the log of its pod."""
    every = failed(run)
    for instance in every[:_FAILURES]:
        yield f"{instance.ref} failed: {instance.message or instance.reason}"
        yield from (f"  | {line}" for line in tail(log_of(folder, instance)))
    if len(every) > _FAILURES:
        yield f"... and {len(every) - _FAILURES} more failures"


def log_of(folder: Path, instance: InstanceView) -> Path:
    """Return the log of the last pod of an instance."""
    return folder / LOGS / f"{names.pod(instance.name, instance.attempt, instance.segment, instance.launch)}.log"


def tail(log: Path, lines: int = _LOG_LINES) -> Sequence[str]:
    """Return the last lines of a log, which may be larger than the memory; none if there is no log."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LOG_TAIL))
            return file.read(_LOG_TAIL).decode(errors="replace").splitlines()[-lines:]
    except OSError:
        return ()


_TICK_S = 1.0


class ProgressView:
    """The observer of a local run. It shows nothing if it is `quiet`."""

    def __init__(self, *, quiet: bool = False, wide: bool = False) -> None:
        self.on_lost: Callable[[], None] = lambda: None
        """Called once if the output cannot be written."""
        self._quiet = quiet
        self._wide = wide
        self._view: View | None = None
        self.copy: RunCopy | None = None
        """The run as far as it was observed; None before the Workflow exists."""

    def changed(self, kind: str, body: Mapping[str, Any]) -> None:
        """Show a Workflow or a TaskRun that was created or changed."""
        item = dict(body)
        if kind == "Workflow" and "parent" not in item["spec"]:
            self._workflow(item)
        elif kind == "TaskRun" and self.copy is not None and self._is_of_run(item):
            uid = item["metadata"]["uid"]
            before, self.copy.taskruns[uid] = self.copy.taskruns.get(uid), item
            self._show([(before, item)])

    def _is_of_run(self, taskrun: Object) -> bool:
        """Whether a TaskRun is of the run that is shown, and not of one that its tasks have started."""
        if self.copy is None or is_notification(taskrun):
            return False
        return bool(taskrun["spec"]["workflow"]["uid"] == self.copy.workflow["metadata"]["uid"])

    def _workflow(self, item: dict[str, Any]) -> None:
        if self.copy is None:
            self.copy = RunCopy(workflow=item)
            self._view = None if self._quiet else live.view_of(item, wide=self._wide)
        self.copy.workflow = item
        self._show([])

    def _show(self, changes: list[tuple[dict[str, Any] | None, dict[str, Any]]]) -> None:
        def show(view: View, copy: RunCopy) -> None:
            view.changed(copy, changes)
            view.tick(copy)

        self._write(show)

    async def tick(self) -> None:
        """Show the time that passes, until this is cancelled."""
        while True:
            await asyncio.sleep(_TICK_S)
            self._write(lambda view, copy: view.tick(copy))

    def end(self) -> None:
        """Show the last state."""
        self._write(lambda view, copy: view.end(copy))

    def _write(self, draw: Callable[[View, RunCopy], None]) -> None:
        """Draw, if the run is shown. An observer must not raise: the request whose change it sees would fail."""
        if self._view is None or self.copy is None:
            return
        try:
            draw(self._view, self.copy)
        except OSError:  # such as `| head`, or a terminal that was closed
            self._view = None
            output.discard(sys.stdout)
            self.on_lost()
