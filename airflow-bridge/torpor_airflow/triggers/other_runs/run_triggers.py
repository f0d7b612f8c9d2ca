"""Airflow's triggers that wait for runs of other DAGs, with the API server of Torpor in place of Airflow's.

Their events are those of Airflow, so that the operators that resume with them are unmodified.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

from airflow.triggers.base import TriggerEvent
from torpor.triggers.services import Services

from torpor_airflow.triggers.other_runs import run_query
from torpor_airflow.triggers.other_runs.run_query import RunQuery, WantedStates
from torpor_airflow.triggers.other_runs.run_watch import OtherRunsWatch
from torpor_airflow.triggers.pool_trigger import PoolTrigger

_MODULE = "airflow.providers.standard.triggers.external_task"


class OtherRunTrigger(PoolTrigger):
    """Put before a trigger class of Airflow that asks for other runs: it watches them, and polls nothing."""

    runs_in_torpor = True
    _services: Services

    def bind(self, services: Services) -> None:
        """Reject a query that Torpor cannot answer. Raises ValueError."""
        super().bind(services)
        self._services = services
        self._watch = OtherRunsWatch(services, self._query())

    @property
    def last_look(self) -> str:
        """The states of the runs, for people."""
        return self._watch.last_look

    def _query(self) -> RunQuery:
        raise NotImplementedError


class OtherDagTrigger(OtherRunTrigger):
    """`WorkflowTrigger`, to which a deferrable ExternalTaskSensor defers."""

    def _query(self) -> RunQuery:
        given: Any = self
        if given.external_task_group_id:
            raise ValueError(f"a task group of {given.external_dag_id}: name its tasks in external_task_ids")
        return run_query.parse(given.external_dag_id, given.run_ids, given.logical_dates, given.external_task_ids or ())

    async def run(self) -> AsyncIterator[Any]:
        """Wait until the runs or their tasks are in one of the states."""
        given: Any = self
        query = self._query()
        wanted = WantedStates(
            allowed=given.allowed_states or (), skipped=given.skipped_states or (), failed=given.failed_states or ()
        )
        async with aclosing(self._watch.changes()) as changes:
            async for runs in changes:
                if (status := run_query.end_status(query, wanted, runs)) is not None:
                    yield TriggerEvent({"status": status})
                    return


class DagRunTrigger(OtherRunTrigger):
    """`DagStateTrigger`, which waits until runs are in one of some states."""

    def _query(self) -> RunQuery:
        given: Any = self
        return run_query.parse(given.dag_id, given.run_ids, given.execution_dates)

    async def run(self) -> AsyncIterator[Any]:
        """Wait until all runs are in one of the states. The event has the state of each run by its name."""
        given: Any = self
        query = self._query()
        wanted = WantedStates(allowed=[getattr(each, "value", each) for each in given.states])
        async with aclosing(self._watch.changes()) as changes:
            async for runs in changes:
                if run_query.end_status(query, wanted, runs) is None:
                    continue
                states = {run["metadata"]["name"]: run_query.run_state(run) for run in runs if run is not None}
                path, data = given.serialize()
                yield TriggerEvent([path, {**data, **states}])
                return


BASES: Mapping[str, type[PoolTrigger]] = {
    f"{_MODULE}.WorkflowTrigger": OtherDagTrigger,
    f"{_MODULE}.DagStateTrigger": DagRunTrigger,
}
"""The class to put before a trigger class, by class path. All others get PoolTrigger."""
