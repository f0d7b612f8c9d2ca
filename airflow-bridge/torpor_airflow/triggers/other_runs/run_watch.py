"""Follows the Workflows of a query, and the Schedule that names them, in the namespace of the wait."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from torpor.triggers.services import Services
from torpor_wire import constants

from torpor_airflow.triggers.other_runs import run_query
from torpor_airflow.triggers.other_runs.run_query import RunQuery

_Object = Mapping[str, Any]


class OtherRunsWatch:
    """The latest versions of the runs of one query."""

    def __init__(self, services: Services, query: RunQuery) -> None:
        self._services = services
        self._query = query
        self._latest: dict[str, _Object] = {}
        self._changed = asyncio.Event()
        self.last_look = f"Schedule {query.schedule} does not exist"

    async def changes(self) -> AsyncGenerator[Sequence[_Object | None], None]:
        """Yield the runs in the order of the query, None for one that does not exist yet: now, and after each change.

        Raises ValueError for a run that is not one of the DAG, PermissionError if Workflows or Schedules may not be
        read.
        """
        candidates = [[name] for name in self._query.run_ids] or await self._names()
        tasks = [asyncio.create_task(self._follow(name)) for names in candidates for name in names]
        for task in tasks:
            task.add_done_callback(lambda _: self._changed.set())
        try:
            while True:
                self._changed.clear()
                for task in tasks:
                    if task.done():
                        task.result()  # a watch only ends with its error
                yield self._latest_runs(candidates)
                await self._changed.wait()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _names(self) -> Sequence[Sequence[str]]:
        versions = self._services.versions(constants.API_VERSION, "Schedule", self._query.schedule)
        async with aclosing(versions) as schedules:
            async for schedule in schedules:
                return run_query.run_names_of(self._query, schedule)
        raise RuntimeError("the watch of the Schedule has ended")

    async def _follow(self, name: str) -> None:
        versions = self._services.versions(constants.API_VERSION, "Workflow", name)
        async with aclosing(versions) as workflows:
            async for workflow in workflows:
                run_query.check_run(self._query, workflow)
                self._latest[name] = workflow
                self._changed.set()

    def _latest_runs(self, candidates: Sequence[Sequence[str]]) -> Sequence[_Object | None]:
        runs = [next((self._latest[each] for each in names if each in self._latest), None) for names in candidates]
        shown = (
            f"{names[0]} is {run_query.run_state(run) if run else 'missing'}"
            for names, run in zip(candidates, runs, strict=True)
        )
        self.last_look = ", ".join(shown)[:500]
        return runs
