"""Limits on values that a Workflow contains once and each instance gets a copy of, and what the cache holds."""

import json
import tracemalloc
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import pytest
from torpor_kubernetes.client.resources import EVENTS, PODS, TASKRUNS
from torpor_operator.expressions import context
from torpor_operator.mapping import size_limits
from torpor_operator.model import cached_taskrun
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.settings import Settings
from torpor_operator.state.task_state import TaskOutcome
from torpor_operator.workflows import reconciler
from torpor_operator.workflows.plan import planner
from torpor_operator.workflows.plan.run_context import BuildGraph
from torpor_wire import constants

from tests.support.builders import container, python
from tests.support.controller_harness import ControllerHarness

LARGE = {f"a{number}": "x" * 8000 for number in range(60)}


@pytest.fixture
async def rig() -> AsyncIterator[ControllerHarness]:
    async with ControllerHarness(Settings()).running() as running:
        yield running


def expand(count: int) -> list[dict[str, Any]]:
    return [{"name": "n", "over": list(range(count))}]


async def refused(rig: ControllerHarness, task: dict[str, Any], **spec: Any) -> str:
    """The message of a task that fails before it has an instance."""
    rig.create("run", task, **spec)
    await rig.advance(3)
    entry = rig.workflow("run")["status"]["tasks"][0]
    assert (entry["state"], entry["reason"]) == ("Failed", "ArgumentsTooLarge"), entry
    assert rig.fake.all(TASKRUNS) == []
    assert f"task {entry['name']}: {entry['message']}" in [event["note"] for event in rig.fake.all(EVENTS)]
    return str(entry["message"])


async def test_constants_of_480_kb_are_not_copied_to_200_instances(rig: ControllerHarness) -> None:
    message = await refused(rig, python("load", args=LARGE, expand=expand(200)))
    assert "each of the 200 instances have 480,290 bytes; the limit is 41,943" in message


async def test_a_command_of_200_kb_is_not_copied_to_200_instances(rig: ControllerHarness) -> None:
    command = ["x" * 4000] * 50
    message = await refused(rig, {"name": "load", "container": {"command": command}, "expand": expand(200)})
    assert "200,000 bytes" in message


async def test_expressions_do_not_make_large_arguments_of_small_ones(rig: ControllerHarness) -> None:
    args = {f"a{number}": "${params.big + ''}" for number in range(60)}
    message = await refused(rig, python("load", args=args, expand=expand(200)), params={"big": "x" * 8000})
    assert "480,290 bytes; the limit is 41,943" in message


@pytest.mark.attack
@pytest.mark.parametrize(
    "task",
    [
        {"container": {"command": ["x"], "args": ["${params.big}"] * 50}},
        {"container": {"steps": [{"name": "s", "command": ["${params.big}"] * 50}]}},
        {"container": {"command": ["x"], "env": [{"name": f"V{n}", "value": "${params.big}"} for n in range(50)]}},
        {"python": "a:b", "pod": {"env": [{"name": f"V{n}", "value": "${params.big}"} for n in range(50)]}},
    ],
)
async def test_expressions_do_not_make_a_large_program_of_a_small_one(
    rig: ControllerHarness, task: dict[str, Any]
) -> None:
    big = {"params": {"big": "x" * 4000}}
    assert "200,0" in await refused(rig, {"name": "load", "expand": expand(200), **task}, **big)


async def test_the_items_of_a_product_count_in_each_instance(rig: ControllerHarness) -> None:
    lists = [{"name": name, "over": ["x" * 8000] * 10} for name in ("a", "b", "c")]
    message = await refused(rig, python("load", expand=lists))
    assert "each of the 1,000 instances have 24,009 bytes; the limit is 8,388" in message


async def test_a_task_that_is_not_mapped_has_a_limit_too(rig: ControllerHarness) -> None:
    message = await refused(rig, python("load", args=LARGE))
    assert "the TaskRun have 480,290 bytes; the limit is 65,536" in message


async def test_the_indexes_of_a_group_share_what_a_task_may_have(rig: ControllerHarness) -> None:
    groups = [{"name": "each", "expand": expand(300)}]
    args = {f"a{number}": "x" * 8000 for number in range(6)}
    message = await refused(rig, python("load", group="each", args=args), groups=groups)
    assert "each of the 300 instances have 48,024 bytes; the limit is 27,962" in message


async def test_params_of_a_wait_that_are_too_large_are_named(rig: ControllerHarness) -> None:
    task = {"name": "wait", "trigger": {"class": "http"}, "result": "params.big"}
    message = await refused(rig, task, params={"big": "x" * 9000})
    assert message.startswith("the params that result and failWhen use have 9,0")


async def test_a_task_within_the_limit_runs(rig: ControllerHarness) -> None:
    rig.create("run", python("load", args={"a": "x" * 8000, "b": "x" * 8000}, expand=expand(20)))
    await rig.advance(5)
    assert rig.state("run") == "Succeeded"


def test_instances_have_eight_megabytes_together_or_two_kilobytes_each() -> None:
    assert size_limits.instance_limit(1) == 64 * 1024
    for width in range(1, 20_001):
        assert size_limits.instance_limit(width) * width <= max(8 * 1024**2, width * constants.ARGUMENTS_FLOOR)
    assert size_limits.instance_limit(constants.MAP_MAX) == 2048


async def test_a_result_is_parsed_once_for_all_indexes_of_a_group(
    rig: ControllerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.script = lambda task, _: json.dumps(["x"] * 500) if task == "list" else None
    parsed: list[str] = []
    original = context._result

    def counted(name: str, outcome: TaskOutcome) -> Any:
        parsed.append(name)
        return original(name, outcome)

    monkeypatch.setattr(context, "_result", counted)
    plans: list[int] = []
    planned = planner.plan

    def plan(snapshot: Snapshot, build_graph: BuildGraph) -> WorkflowPlan:
        plans.append(len(parsed))
        return planned(snapshot, build_graph)

    monkeypatch.setattr(reconciler, "plan", plan)
    load = python("load", group="each", args={"n": "${size(tasks.list.result)}"})
    rig.create("run", python("list"), load, groups=[{"name": "each", "expand": expand(20)}])
    await rig.advance(5)
    assert rig.state("run") == "Succeeded"
    assert max(after - before for before, after in pairwise([*plans, len(parsed)])) == 1


async def test_the_cache_holds_no_arguments(rig: ControllerHarness) -> None:
    rig.create("run", python("a", args={"x": "private " * 1000}), container("b", args={"x": "1"}))
    await rig.advance(1)
    held = list(rig.cache.taskruns.store.values())
    assert len(held) == 2
    assert "private" not in str(held)
    assert all(run.spec.arguments == () for run in held)


async def test_a_container_gets_fields_that_the_cache_does_not_hold(rig: ControllerHarness) -> None:
    program = {"command": ["sh", "-c"], "args": ["echo $(word)"]}
    pod = {"env": [{"name": "own", "value": "1"}]}
    rig.create("run", {"name": "a", "container": program, "args": {"word": "hello", "n": 3}, "pod": pod})
    await rig.clock.advance(0.5)
    (body,) = rig.fake.all(PODS)
    (main,) = body["spec"]["containers"]
    assert (main["command"], main["args"]) == (program["command"], program["args"])
    assert [variable for variable in main["env"] if not variable["name"].startswith("TORPOR_")] == [
        {"name": "own", "value": "1"},
        {"name": "word", "value": "hello"},
        {"name": "n", "value": "3"},
    ]


def taskrun(number: int) -> Any:
    def text(size: int) -> str:
        return f"{number}".rjust(size, "x")

    spec = {
        "workflow": {"name": "w", "uid": "u"},
        "task": "load",
        "mapIndex": number,
        "image": "i:1",
        "python": "a:b",
        "arguments": [{"name": f"a{index}", "value": text(1000)} for index in range(60)],
    }
    status = {
        "state": "Deferred",
        "event": text(4000),
        "log": text(4000),
        "next": {"method": "m:f", "kwargs": text(4000)},
        "trigger": {"class": "http", "kwargs": text(4000), "key": text(64), "shard": 1},
        "conditions": [
            {
                "type": "Succeeded",
                "status": "Pending",
                "reason": "Waiting",
                "message": text(4000),
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ],
    }
    metadata = {
        "name": f"w-load-{number}-abcde",
        "namespace": "ns",
        "uid": f"uid-{number}",
        "resourceVersion": str(number),
        "managedFields": [{"fieldsV1": text(4000)}],
        "annotations": {"note": text(4000)},
    }
    return json.loads(json.dumps({"metadata": metadata, "spec": spec, "status": status}))


def test_a_taskrun_of_90_kb_takes_6_kb_of_cache() -> None:
    cached_taskrun.read(taskrun(0))
    tracemalloc.start()
    try:
        held = [cached_taskrun.read(taskrun(number)) for number in range(200)]
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(json.dumps(taskrun(0))) > 90_000
    assert taken / len(held) < 6 * 1024
