"""What expressions read as `run`: the run, and the event that started it."""

import json
from typing import Any

import pytest
from torpor_operator.model.actions import Evaluate, Need
from torpor_operator.workflows.plan.planner import plan
from torpor_wire import times

from tests.support.builders import NAME, NOW, Body, container, python, wait
from tests.support.plan_fixture import PlanFixture

RUN_OF: Body = {
    "schedule": "nightly",
    "uid": "schedule-uid",
    "source": "files",
    "at": "2026-11-20T02:00:00Z",
    "event": '{"name": "a.csv", "sizes": [1, 2]}',
    "previous": {"name": "nightly-1", "at": "2026-11-19T02:00:00Z", "state": "Failed", "result": "[1]"},
}
PARSED: dict[str, Any] = {
    "event": json.loads(RUN_OF["event"]),
    "previous": {**RUN_OF["previous"], "result": [1]},
}
"""The texts of RUN_OF as expressions see them."""


def evaluated(expression: str, *, run_of: Body | None = RUN_OF, **task: Any) -> Any:
    """The value of an argument that is this expression."""
    spec: dict[str, Any] = {} if run_of is None else {"runOf": run_of}
    world = PlanFixture(python("a", args={"x": f"${{{expression}}}"}, **task), **spec).settle()
    return json.loads(world.arguments("a")["x"])


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("run.name", NAME),
        ("run.at", "2026-11-20T02:00:00Z"),
        ("run.event", {"name": "a.csv", "sizes": [1, 2]}),
        ("run.event.name", "a.csv"),
        ("run.event.sizes.map(n, n + 1)", [2, 3]),
        ("run.schedule + '/' + run.source", "nightly/files"),
        ("run.previous", PARSED["previous"]),
        ("run.previous.result[0]", 1),
        ("run.previous.state == 'Failed'", True),
        ("timestamp(run.at) - duration('24h')", "2026-11-19T02:00:00Z"),
        ("run['at']", "2026-11-20T02:00:00Z"),
    ],
)
def test_a_run_of_a_schedule_sees_its_event(expression: str, value: object) -> None:
    assert evaluated(expression) == value


def test_a_run_that_a_user_created_sees_its_creation_and_nulls() -> None:
    assert evaluated("run", run_of=None) == {
        "name": NAME,
        "at": times.rfc3339(NOW),
        "event": None,
        "previous": None,
        "schedule": None,
        "source": None,
    }


def test_the_first_run_of_a_schedule_has_no_previous_one() -> None:
    first = {name: value for name, value in RUN_OF.items() if name not in {"previous", "source", "event"}}
    assert evaluated("run.previous == null ? 'first' : 'later'", run_of=first) == "first"
    assert evaluated("[run.source, run.event]", run_of=first) == [None, None]


def test_run_is_visible_wherever_params_are() -> None:
    world = PlanFixture(
        python(
            "mapped",
            when="run.schedule == 'nightly'",
            displayName="${run.source} ${mapping.value}",
            expand=[{"name": "n", "over": "${run.event.sizes}"}],
            pod={"env": [{"name": "AT", "value": "${run.at}"}]},
        ),
        python("grouped", group="sizes", args={"n": "${groups.sizes.value}", "at": "${run.at}"}),
        wait("waits", "http", kwargs={"url": "https://a/${run.event.name}"}),
        container("shell", container={"command": ["load", "${run.event.name}"]}),
        groups=[{"name": "sizes", "expand": [{"name": "size", "over": "${run.event.sizes}"}]}],
        runOf=RUN_OF,
    ).settle()
    assert [world.run("mapped", index).spec.display_name for index in (0, 1)] == ["files 1", "files 2"]
    assert world.arguments("grouped", (1,)) == {"n": "2", "at": '"2026-11-20T02:00:00Z"'}
    assert json.loads(world.taskruns[world.name("waits", -1)]["spec"]["trigger"]["kwargs"]) == {
        "url": "https://a/a.csv"
    }
    assert world.taskruns[world.name("shell", -1)]["spec"]["container"]["command"] == ["load", "a.csv"]


@pytest.mark.parametrize(
    ("expressions", "value"),
    [
        ({"result": "run.at + event.x"}, {"at": "2026-11-20T02:00:00Z"}),
        ({"result": "event.x", "failWhen": "run.source == run.schedule"}, {"source": "files", "schedule": "nightly"}),
        ({"result": "run", "failWhen": "run.at == ''"}, {"name": NAME, **RUN_OF, **PARSED}),
    ],
)
def test_result_and_fail_when_get_the_fields_that_they_use(expressions: Body, value: Body) -> None:
    world = PlanFixture(wait("a", **expressions), runOf=RUN_OF).settle()
    value.pop("uid", None)
    assert {name: json.loads(text) for name, text in world.arguments("a").items()} == {"run": value}


def test_a_trigger_task_that_does_not_use_run_does_not_read_its_event() -> None:
    world = PlanFixture(wait("a", result="event.x"), wait("b", result="run.at"), runOf=RUN_OF | {"event": "{"}).settle()
    assert world.arguments("a") == {}
    assert world.tasks()["b"] == "Failed"


def test_the_fields_of_run_that_result_uses_have_a_limit() -> None:
    long = RUN_OF | {"event": json.dumps("x" * 9_000)}
    world = PlanFixture(wait("a", result="run.event"), wait("b", result="run.at"), runOf=long).settle()
    assert (world.task("a").message or "").startswith("the fields of run that result and failWhen use have 9,")
    assert world.has("b")


def test_when_false_on_the_event_skips_the_task() -> None:
    world = PlanFixture(python("a", when="run.event.sizes.size() > 2"), runOf=RUN_OF).settle()
    assert world.tasks() == {"a": "Skipped"}


def test_a_hook_also_sees_the_outcome() -> None:
    text = "${run.schedule} ${run.at}: ${run.state} ${run.reason}"
    world = PlanFixture(python("a"), python("last", hook="end", args={"text": text}), runOf=RUN_OF).settle()
    world.succeed("a")
    assert world.arguments("last") == {"text": '"nightly 2026-11-20T02:00:00Z: Succeeded Succeeded"'}


@pytest.mark.parametrize("name", ["state", "reason", "message"])
def test_only_a_hook_sees_the_outcome(name: str) -> None:
    world = PlanFixture(python("a", args={"x": f"${{run.{name}}}"})).settle()
    message = f"task a: args: x: run.{name}: only hooks see the outcome of the run"
    assert world.condition() == ("False", "ExpressionInvalid", message)


def test_an_unknown_field_is_named_with_those_that_exist() -> None:
    fields = "`name`, `at`, `event`, `previous`, `schedule`, `source`"
    world = PlanFixture(python("a", when="run.evnt.name == 'x'")).settle()
    assert world.condition()[2] == f"task a: when: run.evnt: unknown field; fields of run: {fields}"
    group = {"name": "g", "expand": [{"name": "n", "over": "${run.state}"}]}
    world = PlanFixture(python("a", group="g"), groups=[group]).settle()
    assert world.condition()[2] == "group g: expand n: run.state: only hooks see the outcome of the run"
    world = PlanFixture(python("a"), python("h", hook="end", args={"x": "${run.uid}"})).settle()
    hook = f"{fields}, `state`, `reason`, `message`"
    assert world.condition()[2] == f"task h: args: x: run.uid: unknown field; fields of run: {hook}"


def test_an_event_that_is_not_json_fails_the_task_that_reads_it() -> None:
    world = PlanFixture(python("a", args={"x": "${run.event}"}), python("b"), runOf=RUN_OF | {"event": "{"}).settle()
    assert world.tasks()["a"] == "Failed"
    assert (world.task("a").message or "").startswith("args: x: spec.runOf is not valid JSON: ")
    assert world.has("b")


def evaluation(run_of: Body, expression: str = "run.event.sizes.size()") -> Need:
    world = PlanFixture(python("a", args={"x": f"${{{expression}}}"}), runOf=run_of)
    world.workflow["metadata"]["finalizers"] = ["torpor.dev/cancel-first"]
    (need,) = [need for need in plan(world.snapshot()).needs if isinstance(need, Evaluate)]
    return need


def test_an_answer_holds_for_one_event_only() -> None:
    assert evaluation(RUN_OF) == evaluation(RUN_OF)
    assert evaluation(RUN_OF) != evaluation(RUN_OF | {"event": '{"sizes": [3]}'})
    assert evaluation(RUN_OF) != evaluation(RUN_OF | {"at": "2026-11-21T02:00:00Z"})


def test_an_answer_does_not_keep_the_event() -> None:
    long = RUN_OF | {"event": json.dumps({"sizes": [1] * 1000})}
    need = evaluation(long)
    assert isinstance(need, Evaluate)
    assert len(str(need.sources)) < 200


def test_all_instances_share_one_parsed_event() -> None:
    expand = [{"name": "n", "over": list(range(20))}]
    world = PlanFixture(
        python("a", expand=expand, args={"x": "${run.event.sizes[mapping.index % 2]}"}), runOf=RUN_OF, parallelism=20
    )
    needs = [need for need in plan(world.snapshot()).needs if isinstance(need, Evaluate)]
    assert len(needs) == 20
    assert len({id(need.variables["run"]) for need in needs}) == 1
