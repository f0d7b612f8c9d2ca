"""What the policies say to a Workflow, and to a change of one, that its schema alone would let in."""

from typing import Any

import pytest
from torpor_wire import constants

from tests.integration.conftest import Server

_TRIGGER = {"name": "a", "trigger": {"class": "time"}}
_PYTHON = {"name": "b", "python": "m:f", "image": "x"}


def workflow(*tasks: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "torpor.dev/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "run"},
        "spec": {"tasks": list(tasks)} | spec,
    }


def group(name: str, in_: str | None = None, over: object = "${params.x}") -> dict[str, Any]:
    """A group over something, in another if one is named."""
    return {"name": name, "expand": [{"name": "x", "over": over}]} | ({"in": in_} if in_ else {})


def grouped(*groups: dict[str, Any], **task: Any) -> dict[str, Any]:
    """A workflow of a task `b` with these fields, and groups."""
    return workflow(_TRIGGER, _PYTHON | task, groups=list(groups))


def nest(depth: int) -> list[dict[str, Any]]:
    """As many groups, g0 in g1 in g2 and so on."""
    return [group(f"g{n}", f"g{n + 1}" if n + 1 < depth else None) for n in range(depth)]


REFUSED = {
    "a param with a dash": (
        workflow(_TRIGGER, params={"my-day": 1}),
        'param "my-day" is not an identifier: lower-case letters, digits and underscores, a letter first',
    ),
    "a param named n": (workflow(_TRIGGER, params={"false": 1}), "quote y, n, on, off"),
    "an argument with a dash": (
        workflow(_PYTHON | {"args": {"good": 1, "my-day": 1}}),
        'task b: argument "my-day" is not an identifier',
    ),
    "an argument named y": (
        workflow(_TRIGGER, _PYTHON | {"args": {"true": 1}}),
        "task b has an argument named true or false, as YAML reads a bare y, n, yes, no, on or off: quote y",
    ),
    "a kwarg named on": (workflow({"name": "a", "trigger": {"class": "time", "kwargs": {"true": 1}}}), "task a has an"),
    "a header that frames the message": (
        workflow(
            {"name": "a", "trigger": {"class": "http", "kwargs": {"url": "x", "headers": {"Content-Length": "9"}}}}
        ),
        "task a: trigger.kwargs.headers: Content-Length cannot be set: the HTTP client writes it; remove it",
    ),
    "after a task that is not there": (
        workflow(_TRIGGER, _PYTHON | {"after": ["a", "c", "d"]}),
        "task b is to come after c, d, and there is no such task or group",
    ),
    "a group that is not there": (
        grouped(group("land"), group("city"), group="lnad"),
        "task b: there is no group lnad; there are: land, city",
    ),
    "a group where there is none": (grouped(group="land"), "task b: there is no group land; there are: none"),
    "a group in one that is not there": (
        grouped(group("land"), group("city", "lnad")),
        "group city is in lnad, and there is no such group; there are: land, city",
    ),
    "a group in itself": (grouped(group("land", "land")), "group land stands in itself: land in land; remove one"),
    "a ring of two groups": (
        grouped(group("land", "city"), group("city", "land"), group("house", "city")),
        "group land stands in itself: land in city in land; remove one `in`",
    ),
    "a ring of three groups": (
        grouped(group("house", "land"), group("land", "city"), group("city", "house")),
        "group house stands in itself: house in land in city in house; remove one `in`",
    ),
    "a ring of more than there may be": (
        grouped(group("g9", "g0"), *nest(constants.GROUP_DEPTH), group(f"g{constants.GROUP_DEPTH}", "g9")),
        "no more than 3 may stand in one another",
    ),
    "groups too deep": (
        grouped(*nest(constants.GROUP_DEPTH + 1)),
        f"group g0 in g1 in g2 in g3: no more than {constants.GROUP_DEPTH} may stand in one another",
    ),
    "a group named as a task": (
        grouped(group("land"), group("b")),
        "b is the name of a task and of a group: one of them needs another",
    ),
    "a group over a text": (
        grouped(group("land", over="a, b")),
        "group land: expand takes a list, an object, or an expression ${...} that yields one; a string or a number is",
    ),
    "a group over a number": (grouped(group("land", over=3)), "group land: expand takes a list"),
    "a group over nothing": (grouped(group("land", over=None)), "group land: expand takes a list"),
    "a hook in a group": (
        grouped(group("land"), group="land", hook="end"),
        "task b is a hook, which runs once, at the end of the run: it stands in no group; remove group or hook",
    ),
    "a group over what a function makes": (
        grouped({"name": "land", "expand": [{"name": "x", "over": [1], "map": "m:f"}]}),
        "group land: map is a function of a task's image, and a group has none; use CEL here: ${tasks.x.result.map(",
    ),
    "after the group that it stands in": (
        grouped(group("land"), group("city", "land"), group="city", after=["a", "city"]),
        "task b stands in group city and cannot come after all of it: name in after the tasks that it waits for",
    ),
    "after the group around its own": (
        grouped(group("land"), group("city", "land"), group="city", after=["a", "land"]),
        "task b stands in group land and cannot come after all of it",
    ),
    "expanded and constant": (
        workflow(_PYTHON | {"args": {"x": 1}, "expand": [{"name": "x", "over": [1, 2]}]}),
        "task b gives x both by expand and as a constant; remove one",
    ),
    "mapped over a text": (
        workflow(_PYTHON | {"expand": [{"name": "x", "over": "a, b"}]}),
        "task b: expand takes a list, an object, or an expression ${...} that yields one",
    ),
    "mapped over no list": (
        workflow(_PYTHON | {"expand": []}),
        "task b: expand names nothing to map over: give it an entry of name and over, or remove it",
    ),
    "mapped over a number of arguments": (
        workflow(_PYTHON | {"expandKwargs": 3}),
        "task b: expandKwargs takes a list of objects, or an expression ${...} that yields one",
    ),
    "mapped in two ways": (
        workflow(_PYTHON | {"expand": [{"name": "x", "over": [1]}], "expandKwargs": [{"y": 1}]}),
        "task b: give expand (a product of lists) or expandKwargs (a list of objects), not both",
    ),
    "a limit for what is not mapped": (
        workflow(_PYTHON | {"maxActive": 2}),
        "task b: maxActive is of a task with expand or expandKwargs, or in a group; parallelism limits the run",
    ),
    "a branch that is mapped": (
        workflow(_PYTHON | {"branch": True, "expandKwargs": "${params.x}"}),
        "task b: a branch task decides once, so it cannot be mapped",
    ),
    "arguments of a trigger": (
        workflow(_TRIGGER | {"args": {"x": 1}}),
        "task a is a trigger and calls no function: move its args to trigger.kwargs",
    ),
}


LET_IN: dict[str, dict[str, Any]] = {
    "expandKwargs with a limit": workflow(_PYTHON | {"maxActive": 2, "expandKwargs": [{"y": 1}]}),
    "expand with a limit": workflow(_PYTHON | {"maxActive": 2, "expand": [{"name": "x", "over": [1]}]}),
    "expand over an object and an expression": workflow(
        _PYTHON | {"expand": [{"name": "x", "over": {"k": 1}}, {"name": "y", "over": "${params.y}"}]}
    ),
    "a branch": workflow(_PYTHON | {"branch": True}),
    "groups as deep as may be": grouped(*nest(constants.GROUP_DEPTH), group="g0"),
    "a group over a list, an object and an empty list": grouped(
        group("land", over=[1]), group("city", "land", over={"k": 1}), group("house", over=[]), group="city"
    ),
    "after a group, from without and from the one around it": workflow(
        _PYTHON | {"name": "load", "group": "city"},
        _PYTHON | {"name": "sum", "group": "land", "after": ["city"]},
        _PYTHON | {"after": ["land", "city"]},
        groups=[group("city", "land"), group("land")],
    ),
    "a limit for a task in a group": grouped(group("land"), group="land", maxActive=2),
    "mapped within a group": grouped(group("land"), group="land", expand=[{"name": "x", "over": [1], "map": "m:f"}]),
    "a branch in a group": grouped(group("land"), group="land", branch=True),
}


@pytest.mark.parametrize("case", LET_IN)
def test_the_door_lets_in(server: Server, namespace: str, case: str) -> None:
    server.create("workflows", namespace, LET_IN[case]).expect(201)


@pytest.mark.parametrize("case", REFUSED)
def test_the_door_refuses(server: Server, namespace: str, case: str) -> None:
    body, said = REFUSED[case]
    answer = server.create("workflows", namespace, body)
    assert answer.status == 422, answer.message
    assert answer.body["reason"] == "Invalid"
    assert "torpor-workflow" in answer.message
    assert said in answer.message


def test_the_door_lets_a_whole_workflow_in(server: Server, namespace: str) -> None:
    tasks = (
        _TRIGGER | {"trigger": {"class": "kubernetes", "kwargs": {"apiVersion": "v1", "kind": "Pod"}}},
        _PYTHON | {"after": ["a"], "args": {"day_1": "${params.day}"}, "expand": [{"name": "x", "over": [1, 2]}]},
    )
    server.create("workflows", namespace, workflow(*tasks, params={"day": "2026-11-20"})).expect(201)


def test_the_door_can_afford_to_look_at_as_many_tasks_and_groups_as_there_may_be(
    server: Server, namespace: str
) -> None:
    groups = [*nest(constants.GROUP_DEPTH), *(group(f"other_{n}") for n in range(20 - constants.GROUP_DEPTH))]
    tasks = [
        _PYTHON | {"name": f"t{n}", "group": "g0", "after": [f"t{m}" for m in range(max(0, n - 100), n)]}
        for n in range(500)
    ]
    server.create("workflows", namespace, workflow(*tasks, groups=groups)).expect(201)
