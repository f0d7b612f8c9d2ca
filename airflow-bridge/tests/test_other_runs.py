"""Waits of Airflow for runs of other DAGs are waits for runs of Torpor, without a pod."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from local_play import SECONDS_MAX, play, statuses
from torpor.triggers.services import TaskRunRef
from torpor_airflow.triggers.other_runs import run_query
from torpor_airflow.triggers.other_runs.run_query import WantedStates
from torpor_triggerer.usercode import registry
from torpor_wire import names

RULE = {"airflow.providers.**": "torpor_airflow.triggers.catalog:load_classes"}
MODULE = "airflow.providers.standard.triggers.external_task"
WAITING = TaskRunRef(name="report-wait-abcde", uid="u2", attempt=1, segment=0)
NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)
SCHEDULE = {"metadata": {"name": "orders", "uid": "u1"}, "spec": {"sources": [{"name": "cron", "cron": "0 12 * * *"}]}}
RUN = names.run("orders", names.tick_key("u1", "cron", NOON.timestamp()))


def workflow(state: str | None, name: str = RUN, template: str = "orders", **tasks: str) -> dict[str, Any]:
    """A run of the template orders. A state of None: the operator has not seen it yet."""
    status = {"state": state, "tasks": [{"name": task, "state": each} for task, each in tasks.items()]}
    spec = {"templateRef": {"name": template}}
    return {"metadata": {"name": name}, "spec": spec, "status": status if state else {}}


@dataclass(slots=True, kw_only=True)
class FakeServices:
    """Shows the versions of objects that a test has, in their order, and raises an error instead of a kind."""

    objects: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    errors: Mapping[str, Exception] = field(default_factory=dict)
    namespace: str = "team"
    taskrun: TaskRunRef = WAITING

    async def versions(
        self, api_version: str, kind: str, name: str, *, managed: bool = False
    ) -> AsyncGenerator[Mapping[str, Any], None]:
        assert (api_version, managed) == ("torpor.dev/v1alpha1", False)
        if kind in self.errors:
            raise self.errors[kind]
        for version in self.objects.get((kind, name), ()):
            yield version
            await asyncio.sleep(0)
        await asyncio.Event().wait()  # as a watch does, once there is nothing new


async def event_of(class_name: str, services: FakeServices, **kwargs: Any) -> Any:
    """The payload of the first event of a trigger class of the pool."""
    make: Any = registry.load(RULE).find(f"{MODULE}.{class_name}")
    trigger = make(**kwargs)
    trigger.bind(services)
    async with asyncio.timeout(SECONDS_MAX):
        async for event in trigger.run():
            return event.payload
    return None


def wait_for_orders(**kwargs: Any) -> dict[str, Any]:
    return {"external_dag_id": "orders", "logical_dates": [NOON], "allowed_states": ["success"], **kwargs}


@pytest.mark.parametrize(
    ("wanted", "run", "expected"),
    [
        ({}, None, None),
        ({}, workflow(None), None),
        ({}, workflow("Running"), None),
        ({}, workflow("Succeeded"), "success"),
        ({}, workflow("Failed"), None),
        ({"failed": ["failed"]}, workflow("Failed"), "failed"),
        ({"failed": ["failed"]}, workflow("Succeeded"), "success"),
        ({"skipped": ["failed"]}, workflow("Failed"), "skipped"),
        ({"allowed": ["success", "failed"]}, workflow("Failed"), "success"),
        ({"allowed": ["running"]}, workflow("Finishing"), "success"),
    ],
)
def test_the_state_of_a_run_decides_as_in_airflow(wanted: dict[str, Any], run: Any, expected: str | None) -> None:
    query = run_query.parse("orders", None, [NOON])
    assert run_query.end_status(query, WantedStates(**{"allowed": ["success"], **wanted}), [run]) == expected


@pytest.mark.parametrize(
    ("wanted", "states", "expected"),
    [
        ({}, {"load": "Running"}, None),
        ({}, {"load": "Succeeded"}, "success"),
        ({}, {"load": "Succeeded", "send": "Pending"}, None),
        ({}, {"load": "Succeeded", "send": "Succeeded"}, "success"),
        ({}, {"load": "UpstreamFailed"}, None),
        ({"failed": ["failed"]}, {"load": "Failed", "send": "Running"}, "failed"),
        ({"skipped": ["skipped"]}, {"load": "Running", "send": "Skipped"}, "skipped"),
        ({"failed": ["failed"]}, {"load": "Succeeded", "send": "Running"}, None),
    ],
)
def test_tasks_of_a_running_run_end_the_wait(
    wanted: dict[str, Any], states: dict[str, str], expected: str | None
) -> None:
    query = run_query.parse("orders", None, [NOON], [*states])
    run = workflow("Running", **states)
    assert run_query.end_status(query, WantedStates(**{"allowed": ["success"], **wanted}), [run]) == expected


def test_a_task_is_found_by_its_id_of_airflow() -> None:
    query = run_query.parse("orders", None, [NOON], ["load.rows"])
    run = workflow("Running", load_rows="Succeeded")
    assert run_query.end_status(query, WantedStates(allowed=["success"]), [run]) == "success"


@pytest.mark.parametrize(("second", "expected"), [("Succeeded", "success"), ("Running", None)])
def test_the_tasks_of_all_runs_must_have_succeeded(second: str, expected: str | None) -> None:
    query = run_query.parse("orders", ["a", "b"], None, ["load", "send"])
    runs = [workflow("Running", load="Succeeded", send=state) for state in ("Succeeded", second)]
    assert run_query.end_status(query, WantedStates(allowed=["success"]), runs) == expected


async def test_a_sensor_waits_for_the_run_of_the_same_tick() -> None:
    runs = [workflow(None), workflow("Running"), workflow("Succeeded")]
    services = FakeServices(objects={("Schedule", "orders"): [SCHEDULE], ("Workflow", RUN): runs})
    assert await event_of("WorkflowTrigger", services, **wait_for_orders()) == {"status": "success"}


@pytest.mark.attack
@pytest.mark.parametrize(
    ("dates", "sources", "allowed"), [(32, 2, True), (3, 20, True), (32, 3, False), (4, 20, False)]
)
def test_a_wait_watches_a_bounded_number_of_names(dates: int, sources: int, allowed: bool) -> None:
    query = run_query.parse("orders", None, [NOON + timedelta(days=day) for day in range(dates)])
    schedule = {
        **SCHEDULE,
        "spec": {"sources": [{"name": f"cron_{each}", "cron": "0 12 * * *"} for each in range(sources)]},
    }
    if allowed:
        assert [len(names) for names in run_query.run_names_of(query, schedule)] == [sources] * dates
        return
    with pytest.raises(ValueError, match="would watch more than 64 Workflows"):
        run_query.run_names_of(query, schedule)


async def test_a_run_of_any_cron_source_ends_the_wait() -> None:
    sources = [{"name": name, "cron": "0 12 * * *"} for name in ("early", "cron", "late")]
    objects = {
        ("Schedule", "orders"): [{**SCHEDULE, "spec": {"sources": sources}}],
        ("Workflow", RUN): [workflow("Succeeded")],
    }
    assert await event_of("WorkflowTrigger", FakeServices(objects=objects), **wait_for_orders()) == {
        "status": "success"
    }


async def test_a_wait_for_a_named_run_tells_its_state() -> None:
    runs = [workflow("Running", "o1"), workflow("Failed", "o1")]
    services = FakeServices(objects={("Workflow", "o1"): runs})
    given = {"dag_id": "orders", "states": ["success", "failed"], "run_ids": ["o1"]}
    path, data = await event_of("DagStateTrigger", services, **given)
    assert (path, data["o1"]) == (f"{MODULE}.DagStateTrigger", "failed")


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"external_dag_id": "other/orders"}, "a wait is for a DAG of its own namespace"),
        ({"logical_dates": []}, "is for 0 runs"),
        ({"logical_dates": [NOON] * 33}, "is for 33 runs; 1 to 32 are possible"),
        ({"logical_dates": None, "run_ids": ["manual__2026"]}, "is not the name of a run of Torpor"),
        ({"external_task_group_id": "load"}, "name its tasks in external_task_ids"),
    ],
)
async def test_a_wait_that_torpor_cannot_answer_fails(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        await event_of("WorkflowTrigger", FakeServices(), **wait_for_orders(**kwargs))


@pytest.mark.attack
@pytest.mark.parametrize("denied", ["Schedule", "Workflow"])
async def test_a_wait_for_runs_that_the_pool_may_not_read_fails(denied: str) -> None:
    services = FakeServices(
        objects={("Schedule", "orders"): [SCHEDULE]},
        errors={denied: PermissionError(f"the triggerer may not watch {denied}")},
    )
    with pytest.raises(PermissionError, match=f"may not watch {denied}"):
        await event_of("WorkflowTrigger", services, **wait_for_orders())


@pytest.mark.attack
@pytest.mark.parametrize(
    ("schedule", "run", "kwargs", "message"),
    [
        (SCHEDULE, workflow("Succeeded", template="salaries"), {}, "is not a run of the template orders"),
        (SCHEDULE, workflow("Running", load="Running"), {"external_task_ids": ["lod"]}, "has no task lod; .* has load"),
        ({**SCHEDULE, "spec": {"sources": [{"name": "event", "trigger": {}}]}}, None, {}, "has no cron source"),
    ],
)
async def test_a_run_that_is_not_one_of_the_dag_fails_the_wait(
    schedule: Any, run: Any, kwargs: dict[str, Any], message: str
) -> None:
    services = FakeServices(objects={("Schedule", "orders"): [schedule], ("Workflow", RUN): [run] if run else []})
    with pytest.raises(ValueError, match=message):
        await event_of("WorkflowTrigger", services, **wait_for_orders(**kwargs))


async def test_a_run_that_a_task_has_started_ends_a_wait_for_it(tmp_path: Path) -> None:
    kwargs = {"dag_id": "orders", "states": ["success"], "run_ids": ["o1"]}
    outcome = await play(
        tmp_path,
        {"name": "start", "run": {"templateRef": {"name": "orders"}, "name": "o1", "wait": False}},
        {"name": "wait", "after": ["start"], "trigger": {"class": f"{MODULE}.DagStateTrigger", "kwargs": kwargs}},
        templates=[
            {
                "apiVersion": "torpor.dev/v1alpha1",
                "kind": "WorkflowTemplate",
                "metadata": {"name": "orders", "namespace": "default"},
                "spec": {"workflow": {"image": "any:1", "tasks": [PAUSE]}},
            }
        ],
    )
    assert outcome.state == "Succeeded", statuses(outcome)
    assert outcome.results["wait"][1]["o1"] == "success"


PAUSE = {"name": "pause", "trigger": {"class": "duration", "kwargs": {"duration": "1s"}}}
