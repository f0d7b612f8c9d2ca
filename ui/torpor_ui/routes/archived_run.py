"""Reads a run from the archive as the page shows it: once, since it does not change."""

import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from torpor_views.facts import Facts
from torpor_views.model import RunView

from torpor_ui import errors
from torpor_ui.cluster.archive import ArchiveReader
from torpor_ui.presentation import frames, instances, overview, run_page
from torpor_ui.presentation.frames import Frame
from torpor_ui.presentation.instances import CachedInstance

INSTANCES_MAX = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedRun:
    """An archived run: its view and its instances."""

    view: RunView
    instances: list[CachedInstance]

    def snapshot(self, acts: Mapping[str, object]) -> bytes:
        """Return the event with everything. `acts`: what the caller may do."""
        page = run_page.build(self.view, Facts(), archived=True)
        more = {**overview.build(self.view, self.instances), "acts": acts}
        return frames.snapshot(Frame(page=page, more=more), self.instances)


async def read_archived_run(archive: ArchiveReader, namespace: str, uid: str) -> ArchivedRun:
    """Return a run of the archive. Raises ProblemError."""
    workflow: Mapping[str, Any] | None = None
    cached: list[CachedInstance] = []
    async with aclosing(archive.run(namespace, uid)) as objects:
        async for item in objects:
            match item.get("kind"):
                case "Workflow":
                    workflow = item
                case "TaskRun":
                    cached.append(instances.parse(item))
            if len(cached) > INSTANCES_MAX:
                raise errors.too_large(f"the run has more than {INSTANCES_MAX} TaskRuns", "Use `torpor get`.")
    if workflow is None:
        raise errors.not_found(f"the archive has no run {uid} in namespace {namespace}")
    run = RunView.parse(workflow, now=time.time()).with_instances(each.view for each in cached)
    cached.sort(key=lambda each: (each.view.task, each.view.path))
    return ArchivedRun(view=run, instances=cached)
