"""Shows a local run while it runs: the tree on a terminal, else a line for each transition."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Any

from torpor_cli import output
from torpor_cli.following import live
from torpor_cli.following.live import RunCopy, View

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
        if kind == "Workflow":
            self._workflow(item)
        elif kind == "TaskRun" and self.copy is not None:
            uid = item["metadata"]["uid"]
            before, self.copy.taskruns[uid] = self.copy.taskruns.get(uid), item
            self._show([(before, item)])

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
