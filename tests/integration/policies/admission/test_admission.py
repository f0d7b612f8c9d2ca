"""What the policies reject in a Workflow that its schema admits."""

from typing import Any

import pytest
from torpor_wire import constants

from tests.integration.conftest import Server
from tests.support.manifests import manifest

_TRIGGER = {"name": "a", "trigger": {"class": "time"}}
_PYTHON = {"name": "b", "python": "m:f", "image": "x"}


def workflow(*tasks: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return manifest("Workflow", "run", {"tasks": list(tasks)} | spec)


def group(name: str, in_: str | None = None, over: object = "${params.x}") -> dict[str, Any]:
    """A group over something, in another if one is named."""
    return {"name": name, "expand": [{"name": "x", "over": over}]} | ({"in": in_} if in_ else {})


def grouped(*groups: dict[str, Any], **task: Any) -> dict[str, Any]:
    """A workflow of a task `b` with these fields, and groups."""
    return workflow(_TRIGGER, _PYTHON | task, groups=list(groups))


def nest(depth: int) -> list[dict[str, Any]]:
    """As many groups, g0 in g1 in g2 and so on."""
    return [group(f"g{n}", f"g{n + 1}" if n + 1 < depth else None) for n in range(depth)]


REJECTED: dict[str, tuple[dict[str, Any], str]] = {
    "two bodies": (
        workflow(_PYTHON | {"container": {"command": ["x"]}}),
        "task b: a task has exactly one body: python, container, trigger, run, object, or http. A trigger may also",
    ),
    "no body": (
        workflow({"name": "a"}),
        "task a: a task has exactly one body: python, container, trigger, run, object, or http.",
    ),
    "a container after a trigger": (
        workflow(_TRIGGER | {"image": "x", "container": {"command": ["x"]}}),
        "task a: a task has exactly one body",
    ),
    "Secrets of a program that does not defer": (
        workflow({"name": "a", "image": "x", "container": {"triggerSecrets": [{"name": "jobs", "key": "token"}]}}),
        "task a: triggerSecrets is for a program that defers: set container.outcome: true",
    ),
    "no module": (
        workflow(_PYTHON | {"python": "f"}),
        "task b: python is module:function, such as ingest.tasks:load",
    ),
    "a dot in place of the colon": (
        workflow(_PYTHON | {"python": "ingest.load"}),
        "task b: python is module:function, such as ingest.tasks:load",
    ),
    "a result of a function": (
        workflow(_PYTHON | {"result": "event"}),
        "task b: result and failWhen are for trigger tasks only",
    ),
    "failWhen of a container": (
        workflow({"name": "a", "image": "x", "container": {}, "failWhen": "event == 1"}),
        "task a: result and failWhen are for trigger tasks only",
    ),
    "no image": (
        workflow(_PYTHON, {"name": "a", "python": "m:f"}),
        "task a: a task with a pod needs an image: set image of the task, or spec.image for all tasks",
    ),
    "no image after a trigger": (
        workflow(_TRIGGER | {"python": "m:f"}),
        "task a: a task with a pod needs an image",
    ),
    "an image for a trigger": (
        workflow(_TRIGGER | {"image": "x"}),
        "task a: a trigger task has no pod: remove image",
    ),
    "pod fields of a trigger": (workflow(_TRIGGER | {"pod": {}}), "task a: a trigger task has no pod: remove pod"),
    "a runtime of a trigger": (
        workflow(_TRIGGER | {"runtime": "Image"}),
        "task a: runtime is for python tasks: remove runtime",
    ),
    "a source of a container": (
        workflow({"name": "a", "image": "x", "container": {}, "source": {"configMap": "etl"}}),
        "task a: source is for python tasks: remove source",
    ),
    "a host path": (
        workflow(_PYTHON | {"pod": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}}),
        "task b: a volume must be exactly one of emptyDir, configMap, secret, persistentVolumeClaim, ephemeral, ",
    ),
    "a volume of two kinds": (
        workflow(_PYTHON | {"pod": {"volumes": [{"name": "v", "emptyDir": {}, "configMap": {"name": "c"}}]}}),
        "task b: a volume must be exactly one of",
    ),
    "a map function of a container": (
        workflow({"name": "a", "image": "x", "container": {}, "expand": [{"name": "x", "over": [1], "map": "m:f"}]}),
        "task a: map works in python tasks only; use CEL: ${tasks.x.result.map(i, ...)}",
    ),
    "after itself": (
        workflow(_PYTHON | {"after": ["b"]}),
        "task b: a task cannot come after itself; remove its own name from after",
    ),
    "neither tasks nor a template": (
        {**workflow(), "spec": {"params": {"x": 1}}},
        "set tasks, or templateRef with params",
    ),
    "a param with a dash": (
        workflow(_TRIGGER, params={"my-day": 1}),
        'param "my-day" is not an identifier: use lower-case letters, digits and underscores, and begin with a letter',
    ),
    "a param named n": (
        workflow(_TRIGGER, params={"false": 1}),
        "a param has the name true or false: YAML reads an unquoted y",
    ),
    "an argument with a dash": (
        workflow(_PYTHON | {"args": {"good": 1, "my-day": 1}}),
        'task b: argument "my-day" is not an identifier',
    ),
    "an argument named y": (
        workflow(_TRIGGER, _PYTHON | {"args": {"true": 1}}),
        "task b: an argument has the name true or false: YAML reads an unquoted y, n, yes, no, on or off as a boolean",
    ),
    "a kwarg named on": (
        workflow({"name": "a", "trigger": {"class": "time", "kwargs": {"true": 1}}}),
        "task a: an argument has",
    ),
    "a header that the client owns": (
        workflow(
            {"name": "a", "trigger": {"class": "http", "kwargs": {"url": "x", "headers": {"Content-Length": "9"}}}}
        ),
        "task a: trigger.kwargs.headers: Content-Length cannot be set: the HTTP client writes it; remove it",
    ),
    "after an unknown task": (
        workflow(_TRIGGER, _PYTHON | {"after": ["a", "c", "d"]}),
        "task b: `after` names c, d: no such task or group",
    ),
    "an unknown group": (
        grouped(group("land"), group("city"), group="lnad"),
        "task b: `group` names lnad: no such group; groups: land, city",
    ),
    "a group in a Workflow without groups": (
        grouped(group="land"),
        "task b: `group` names land: no such group; groups: none",
    ),
    "a group in an unknown group": (
        grouped(group("land"), group("city", "lnad")),
        "group city: `in` names lnad: no such group; groups: land, city",
    ),
    "a group in itself": (grouped(group("land", "land")), "group land contains itself: land in land; remove one"),
    "a cycle of two groups": (
        grouped(group("land", "city"), group("city", "land"), group("house", "city")),
        "group land contains itself: land in city in land; remove one `in`",
    ),
    "a cycle of three groups": (
        grouped(group("house", "land"), group("land", "city"), group("city", "house")),
        "group house contains itself: house in land in city in house; remove one `in`",
    ),
    "a cycle of more groups than the limit": (
        grouped(group("g9", "g0"), *nest(constants.GROUP_DEPTH), group(f"g{constants.GROUP_DEPTH}", "g9")),
        "the limit is 3 levels",
    ),
    "groups too deep": (
        grouped(*nest(constants.GROUP_DEPTH + 1)),
        f"g0 is nested in more than two groups: g0 in g1 in g2 in g3; the limit is {constants.GROUP_DEPTH} levels",
    ),
    "a group named as a task": (
        grouped(group("land"), group("b")),
        "b is the name of a task and of a group; rename one of them",
    ),
    "a group over a text": (
        grouped(group("land", over="a, b")),
        "group land: expand takes a list, an object, or an expression ${...} that returns one; a string or number is",
    ),
    "a group over a number": (grouped(group("land", over=3)), "group land: expand takes a list"),
    "a group over nothing": (grouped(group("land", over=None)), "group land: expand takes a list"),
    "a hook in a group": (
        grouped(group("land"), group="land", hook="end"),
        "task b: a hook cannot be in a group; remove group or hook",
    ),
    "a group with a map function": (
        grouped({"name": "land", "expand": [{"name": "x", "over": [1], "map": "m:f"}]}),
        "group land: `map` works in tasks only; use CEL: ${tasks.x.result.map(",
    ),
    "after its own group": (
        grouped(group("land"), group("city", "land"), group="city", after=["a", "city"]),
        "task b cannot come after its own group city; name tasks of the group instead",
    ),
    "after the group that contains its own": (
        grouped(group("land"), group("city", "land"), group="city", after=["a", "land"]),
        "task b cannot come after its own group land",
    ),
    "expanded and constant": (
        workflow(_PYTHON | {"args": {"x": 1}, "expand": [{"name": "x", "over": [1, 2]}]}),
        "task b: argument x is in both expand and args, trigger.kwargs or run.params; remove one",
    ),
    "mapped over a text": (
        workflow(_PYTHON | {"expand": [{"name": "x", "over": "a, b"}]}),
        "task b: expand takes a list, an object, or an expression ${...} that returns one",
    ),
    "mapped over no list": (
        workflow(_PYTHON | {"expand": []}),
        "task b: expand is empty; add an entry with name and over, or remove expand",
    ),
    "mapped over a number of arguments": (
        workflow(_PYTHON | {"expandKwargs": 3}),
        "task b: expandKwargs takes a list of objects, or an expression ${...} that returns one",
    ),
    "mapped in two ways": (
        workflow(_PYTHON | {"expand": [{"name": "x", "over": [1]}], "expandKwargs": [{"y": 1}]}),
        "task b: use expand (a product of lists) or expandKwargs (a list of objects), not both",
    ),
    "a limit for an unmapped task": (
        workflow(_PYTHON | {"maxActive": 2}),
        "task b: maxActive needs expand, expandKwargs or a group; spec.parallelism limits the whole run",
    ),
    "a branch that is mapped": (
        workflow(_PYTHON | {"branch": True, "expandKwargs": "${params.x}"}),
        "task b: a branch cannot be mapped",
    ),
    "arguments of a trigger": (
        workflow(_TRIGGER | {"args": {"x": 1}}),
        "task a: a trigger has no args; move them to trigger.kwargs",
    ),
}


ADMITTED: dict[str, dict[str, Any]] = {
    "a trigger before python": workflow(_PYTHON | {"trigger": {"class": "time"}}),
    "a container": workflow({"name": "a", "image": "x", "container": {"command": ["x"]}}),
    "an image for all tasks": workflow(_TRIGGER, {"name": "b", "python": "m:f"}, image="x"),
    "a result of a trigger": workflow(_TRIGGER | {"result": "event", "failWhen": "event == 1"}),
    "a runtime and a source": workflow(_PYTHON | {"runtime": "Inject", "source": {"configMap": "etl"}}),
    "a volume of each kind": workflow(
        _PYTHON
        | {
            "pod": {
                "volumes": [
                    {"name": "a", "emptyDir": {}},
                    {"name": "b", "configMap": {"name": "c"}},
                    {"name": "c", "secret": {"secretName": "c"}},
                    {"name": "d", "persistentVolumeClaim": {"claimName": "c"}},
                ]
            }
        }
    ),
    "expandKwargs with a limit": workflow(_PYTHON | {"maxActive": 2, "expandKwargs": [{"y": 1}]}),
    "expand with a limit": workflow(_PYTHON | {"maxActive": 2, "expand": [{"name": "x", "over": [1]}]}),
    "expand over an object and an expression": workflow(
        _PYTHON | {"expand": [{"name": "x", "over": {"k": 1}}, {"name": "y", "over": "${params.y}"}]}
    ),
    "a branch": workflow(_PYTHON | {"branch": True}),
    "groups at the depth limit": grouped(*nest(constants.GROUP_DEPTH), group="g0"),
    "a group over a list, an object and an empty list": grouped(
        group("land", over=[1]), group("city", "land", over={"k": 1}), group("house", over=[]), group="city"
    ),
    "after a group, outside it and in the group that contains it": workflow(
        _PYTHON | {"name": "load", "group": "city"},
        _PYTHON | {"name": "sum", "group": "land", "after": ["city"]},
        _PYTHON | {"after": ["land", "city"]},
        groups=[group("city", "land"), group("land")],
    ),
    "a limit for a task in a group": grouped(group("land"), group="land", maxActive=2),
    "mapped within a group": grouped(group("land"), group="land", expand=[{"name": "x", "over": [1], "map": "m:f"}]),
    "a branch in a group": grouped(group("land"), group="land", branch=True),
}


@pytest.mark.parametrize("case", ADMITTED)
def test_a_workflow_is_admitted(server: Server, namespace: str, case: str) -> None:
    server.create("workflows", namespace, ADMITTED[case]).expect(201)


@pytest.mark.parametrize("case", REJECTED)
def test_a_workflow_is_rejected(server: Server, namespace: str, case: str) -> None:
    body, said = REJECTED[case]
    answer = server.create("workflows", namespace, body)
    assert answer.status == 422, answer.message
    assert answer.body["reason"] == "Invalid"
    assert "torpor-workflow" in answer.message
    assert said in answer.message


def test_a_workflow_with_all_kinds_of_fields_is_admitted(server: Server, namespace: str) -> None:
    tasks = (
        _TRIGGER | {"trigger": {"class": "kubernetes", "kwargs": {"apiVersion": "v1", "kind": "Pod"}}},
        _PYTHON | {"after": ["a"], "args": {"day_1": "${params.day}"}, "expand": [{"name": "x", "over": [1, 2]}]},
    )
    server.create("workflows", namespace, workflow(*tasks, params={"day": "2026-11-20"})).expect(201)


def test_the_policy_stays_within_its_cost_for_the_most_tasks_and_groups(server: Server, namespace: str) -> None:
    groups = [*nest(constants.GROUP_DEPTH), *(group(f"other_{n}") for n in range(20 - constants.GROUP_DEPTH))]
    tasks = [
        _PYTHON | {"name": f"t{n}", "group": "g0", "after": [f"t{m}" for m in range(max(0, n - 100), n)]}
        for n in range(500)
    ]
    server.create("workflows", namespace, workflow(*tasks, groups=groups)).expect(201)
