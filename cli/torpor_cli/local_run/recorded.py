"""A local run for tests: its results, its transitions, its failures and its logs as one value."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from torpor_client.runs import references, run_state
from torpor_views.model import RunView

from torpor_cli import errors
from torpor_cli.local_run import folders, given, play, preflight, report, workflow_file
from torpor_cli.local_run.workflow_file import InvalidFile


class Transition(NamedTuple):
    """A state that an instance entered. `task` is `load`, or `load/3` for an instance of a mapped task."""

    task: str
    state: str
    attempt: int
    segment: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """A run that ended.

    `state` is Succeeded, Failed or Cancelled. `results` has the result of each task, a list for a mapped one.
    `history` has all transitions in order, `failures` the messages of failed instances.
    """

    state: str
    message: str
    results: Mapping[str, Any]
    history: tuple[Transition, ...]
    failures: Mapping[str, str]
    workflow: Mapping[str, Any]
    run: RunView
    folder: Path

    @property
    def succeeded(self) -> bool:
        """Whether the run succeeded."""
        return self.state == run_state.RunWord.SUCCEEDED

    @property
    def states(self) -> dict[str, str]:
        """The last state of each instance."""
        return {instance.ref: instance.word for instance in self.run.all_instances()}

    def log(self, task: str) -> str:
        """Return the output of the last pod of an instance, such as `load/3`. Raises KeyError without such a one."""
        by_ref = {instance.ref: instance for instance in self.run.all_instances()}
        path = report.log_of(self.folder, by_ref[task])
        return path.read_text() if path.exists() else ""


@dataclass(slots=True)
class _Recorder:
    """The observer: notes each state that a TaskRun enters."""

    history: list[Transition] = field(default_factory=list)
    last: dict[str, Transition] = field(default_factory=dict)

    def changed(self, kind: str, body: Mapping[str, Any]) -> None:
        """Note a change."""
        if kind != "TaskRun":
            return
        status = body.get("status") or {}
        entered = Transition(
            task=references.ref_of(body),
            state=str(status.get("state") or "Scheduled"),
            attempt=int(status.get("attempt") or 1),
            segment=int(status.get("segment") or 0),
        )
        uid = body["metadata"]["uid"]
        if self.last.get(uid) != entered:
            self.last[uid] = entered
            self.history.append(entered)


def record(  # noqa: PLR0913 - keyword arguments, each with a default
    file: str,
    *,
    folder: Path,
    python: str,
    params: Mapping[str, Any],
    events: Mapping[str, Any],
    answers: Mapping[str, Any] | None = None,
    skip_time: bool = False,
    jobs: int = 4,
    triggers: Mapping[str, str] | None = None,
) -> RecordedRun:
    """Play the Workflow of a file to its end. Raises CliError if the file is invalid or needs a cluster."""
    workflow = workflow_file.read(file, triggers)
    if isinstance(workflow, InvalidFile):
        raise errors.CliError("\n".join([*workflow.lines, workflow.summary]))
    workflow = workflow.with_params((), params)
    play.check_installed()
    _check_events({**events, **(answers or {})}, workflow.tasks())
    answered = {name: given.answer_of(value) for name, value in (answers or {}).items()}
    if refused := preflight.of_file(workflow, events, triggers or {}, answered).refused:
        raise errors.CliError("; ".join(refused))
    from torpor_local import engine  # noqa: PLC0415 - an extra of this package

    chosen = play.Play(
        documents=preflight.documents(folders.named(workflow.workflow), workflow.others),
        folder=folder,
        python=python,
        jobs=jobs,
        events=dict(events),
        answers=answered,
        skip_time=skip_time,
        triggers=triggers or {},
    )
    recorder = _Recorder()
    outcome = _outside_of_a_loop(lambda: asyncio.run(engine.play(chosen.documents, chosen.options(), recorder)))
    run = RunView.parse(outcome.workflow, outcome.objects.get("TaskRun", ()), now=0.0)
    return RecordedRun(
        state=run_state.word_of(outcome.workflow),
        message=run_state.message_of(outcome.workflow),
        results=outcome.results,
        history=tuple(recorder.history),
        failures={instance.ref: instance.message or instance.reason for instance in report.failed(run)},
        workflow=outcome.workflow,
        run=run,
        folder=folder,
    )


def _check_events(events: Mapping[str, Any], tasks: list[str]) -> None:
    for name in events:
        task = name.partition("/")[0]
        if task not in tasks:
            raise errors.unknown("task", task, tasks, f"the file has {', '.join(tasks)}")


def _outside_of_a_loop(call: Callable[[], Any]) -> Any:
    """Call a function that runs an event loop, in another thread if this one has a loop, as in an async test."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return call()
    results: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            failed.append(error)

    thread = threading.Thread(target=run, name="torpor-run")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return results[0]
