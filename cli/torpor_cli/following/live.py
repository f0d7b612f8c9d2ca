"""Follows a run until it ends: redraws its tree on a terminal, else prints a line for each transition."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from torpor_client.runs import run_state
from torpor_views import tree
from torpor_views.model import RunView
from torpor_wire.state import TERMINAL

from torpor_cli import errors, output
from torpor_cli.cluster.api import Object, ObjectSelection
from torpor_cli.cluster.connect import ClusterConnection
from torpor_cli.cluster.resources import WORKFLOWS
from torpor_cli.cluster.watch import Changed, Deleted, ListSnapshot, NothingChanged, Update, watch_all
from torpor_cli.errors import ExitCode
from torpor_cli.render import terminal, transition
from torpor_cli.render import tree as render
from torpor_cli.render.terminal import Screen
from torpor_cli.runs import exit_codes, run_lookup

_TICK_S = 1.0
_FRAME_S = 0.1
_SETTLE_S = 2.0
"""How long the last TaskRuns may arrive after the end of the Workflow: two watches have no common order."""
_DRAW_SHARE = 4.0
"""A tree that takes long to draw is drawn less often: at most a fifth of the time."""


@dataclass(slots=True, kw_only=True)
class RunCopy:
    """A run as the watches have reported it so far."""

    workflow: Object
    taskruns: dict[str, Object] = field(default_factory=dict)
    deleted: bool = False
    complete: bool = False
    """Whether the TaskRuns have been listed."""

    def apply(self, update: Update) -> list[tuple[Object | None, Object]]:
        """Apply an update; return the TaskRuns that changed, each with its former version.

        The first list returns only those that have not ended, since a run may have thousands of others.
        """
        if update.selection.resource == WORKFLOWS:
            self._workflow(update)
            return []
        match update:
            case ListSnapshot(items=items):
                listed = {item["metadata"]["uid"]: item for item in run_lookup.owned(items, self.workflow)}
                changed = [(self.taskruns.get(uid), item) for uid, item in listed.items()]
                first, self.taskruns, self.complete = not self.complete, listed, True
                return [(before, item) for before, item in changed if not (first and _over(item))]
            case Changed(item=item):
                if not run_lookup.owned([item], self.workflow):
                    return []
                uid = item["metadata"]["uid"]
                before, self.taskruns[uid] = self.taskruns.get(uid), item
                return [(before, item)]
            case Deleted(item=item):
                self.taskruns.pop(item["metadata"]["uid"], None)
        return []

    @property
    def settled(self) -> bool:
        """Whether no TaskRun that is known has work left."""
        return self.complete and all(map(_over, self.taskruns.values()))

    def _workflow(self, update: Update) -> None:
        uid = self.workflow["metadata"]["uid"]
        match update:
            case ListSnapshot(items=items):
                same = [item for item in items if item["metadata"]["uid"] == uid]
                self.deleted = not same
                self.workflow = same[0] if same else self.workflow
            case Changed(item=item) if item["metadata"]["uid"] == uid:
                self.workflow = item
            case Deleted(item=item) if item["metadata"]["uid"] == uid:
                self.workflow, self.deleted = item, True
            case _:
                pass


def follow(cluster: ClusterConnection, workflow: Object, *, wide: bool = False, limit: float | None = None) -> int:
    """Show a run until it ends, for at most `limit` seconds. Return the exit code of its outcome."""
    copy = RunCopy(workflow=workflow)
    view = view_of(workflow, wide=wide)
    ends = None if limit is None else time.monotonic() + limit
    settles = None
    try:
        for update in _updates(cluster, workflow):
            if not isinstance(update, NothingChanged):
                view.changed(copy, copy.apply(update))
            view.tick(copy)
            if copy.deleted:
                raise errors.CliError(f"run {copy.workflow['metadata']['name']} was deleted")
            if run_state.has_ended(copy.workflow):
                settles = settles or (time.monotonic() + _SETTLE_S if copy.complete else None)
                if copy.settled or (settles is not None and time.monotonic() > settles):
                    break
            else:
                settles = None
            if ends is not None and time.monotonic() > ends:
                view.end(copy)
                output.note(f"run {copy.workflow['metadata']['name']} has not ended; it goes on")
                return ExitCode.TIMED_OUT
    except KeyboardInterrupt:
        output.note(f"interrupted; run {copy.workflow['metadata']['name']} goes on")
        return ExitCode.INTERRUPTED
    view.end(copy)
    return exit_codes.of_runs([run_state.word_of(copy.workflow)])


def view_of(workflow: Object, *, wide: bool = False) -> "View":
    """Return how to show a run on this standard output: redrawn on a terminal, else a line for each transition."""
    return _Redrawn(wide=wide) if output.interactive() else _Printed(workflow)


class View(Protocol):
    """Shows a run that changes."""

    def changed(self, copy: RunCopy, changes: list[tuple[Object | None, Object]]) -> None:
        """Show changes of TaskRuns or of the Workflow."""

    def tick(self, copy: RunCopy) -> None:
        """Show the time that passes."""

    def end(self, copy: RunCopy) -> None:
        """Show the last state."""


class _Printed:
    """A line for each transition, for pipes and logs."""

    def __init__(self, workflow: Object) -> None:
        self._state = ""
        self._ended = set(transition.ended_without_taskruns(workflow))

    def changed(self, copy: RunCopy, changes: list[tuple[Object | None, Object]]) -> None:
        """Print TaskRuns that entered another state, and tasks that ended without one."""
        for before, item in changes:
            if before is None or _stage(before) != _stage(item):
                output.styled(transition.line(item, before, time.time()))
        ended = transition.ended_without_taskruns(copy.workflow)
        for (task, word), because in ended.items():
            if (task, word) not in self._ended:
                output.styled(transition.run_line(task, word, because, time.time()))
        self._ended = set(ended)  # a clear may start a task again
        state = run_state.word_of(copy.workflow)
        if state != self._state and not run_state.has_ended(copy.workflow):
            self._state = state
            self._print(copy)
        output.flush()

    def tick(self, copy: RunCopy) -> None:
        """Do nothing: time alone changes no line."""

    def end(self, copy: RunCopy) -> None:
        """Print the outcome."""
        self._print(copy)

    @staticmethod
    def _print(copy: RunCopy) -> None:
        progress = str((copy.workflow.get("status") or {}).get("progress") or "")
        details = "  ".join(filter(None, (progress, run_state.message_of(copy.workflow))))
        name, state = copy.workflow["metadata"]["name"], run_state.word_of(copy.workflow)
        output.styled(transition.run_line(name, state, details, time.time()))
        output.flush()


class _Redrawn:
    """The tree, drawn again in place."""

    def __init__(self, *, wide: bool) -> None:
        self._screen = Screen()
        self._wide = wide
        self._next = 0.0

    def changed(self, copy: RunCopy, changes: list[tuple[Object | None, Object]]) -> None:
        """Do nothing: the next tick draws what the copy then has."""

    def tick(self, copy: RunCopy) -> None:
        """Draw, since durations grow, but not too often."""
        if time.monotonic() >= self._next:
            self._draw(copy, whole=False)

    def end(self, copy: RunCopy) -> None:
        """Draw the whole tree."""
        self._draw(copy, whole=True)

    def _draw(self, copy: RunCopy, *, whole: bool) -> None:
        began = time.monotonic()
        run = RunView.parse(copy.workflow, copy.taskruns.values(), now=time.time())
        lines = render.lines(
            tree.build(run), terminal.render_options(copy.workflow, wide=self._wide), waits=render.waits_of(run)
        )
        self._screen.draw(lines, whole=whole)
        took = time.monotonic() - began
        self._next = time.monotonic() + max(_FRAME_S, took * _DRAW_SHARE)


def _over(item: Mapping[str, Any]) -> bool:
    return (item.get("status") or {}).get("state") in TERMINAL


def _stage(item: Mapping[str, Any]) -> tuple[Any, ...]:
    status = item.get("status") or {}
    return tuple(status.get(key) for key in ("state", "attempt", "segment", "launch"))


def _updates(cluster: ClusterConnection, workflow: Object) -> Iterator[Update | NothingChanged]:
    own = ObjectSelection.named(WORKFLOWS, cluster.namespace, workflow["metadata"]["name"])
    selections = (own, run_lookup.taskruns_selection(cluster, workflow))
    return watch_all(cluster.api, selections, tick=_TICK_S, noted=output.note)
