"""The operator's problems of a graph, all of them, each at its field."""

from typing import Any

import pytest
from torpor_cli.linting.finding import LintRule
from torpor_crds.models import workflow as models
from torpor_crds.models.workflow import WorkflowSpec
from torpor_operator.graph import dag

from tests.support.builders import python, wait
from tests.support.manifests import manifest
from tests.unit.cli.linting.findings import lint


def workflow(*tasks: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return manifest("Workflow", "run", {"image": "ingest:1.4", "tasks": list(tasks)} | spec)


_DAY = {"params": {"day": "today"}}
_GROUP = {"name": "cities", "expand": [{"name": "city", "over": [1, 2]}]}

PLACED: dict[str, tuple[dict[str, Any], str]] = {
    "an argument": (workflow(python("b", args={"x": "${tasks.lost.result}"})), "spec.tasks[0].args.x"),
    "a param": (workflow(python("b", args={"x": "${params.dya}"}), **_DAY), "spec.tasks[0].args.x"),
    "a deep argument": (workflow(python("b", args={"x": {"y": ["${}"]}})), "spec.tasks[0].args.x"),
    "a condition": (workflow(python("b", when="1 +")), "spec.tasks[0].when"),
    "a name": (workflow(python("a"), python("b", when="nobody.knows")), "spec.tasks[1].when"),
    "a list": (workflow(python("b", expand=[{"name": "x", "over": "${params.x}"}])), "spec.tasks[0].expand[0].over"),
    "lists of arguments": (workflow(python("b", expandKwargs="${params.x}")), "spec.tasks[0].expandKwargs"),
    "a display name": (workflow(python("b", displayName="${x}")), "spec.tasks[0].displayName"),
    "a command": (
        workflow({"name": "b", "container": {"command": ["echo", "${HOME}"]}}),
        "spec.tasks[0].container.command",
    ),
    "a variable": (
        workflow(python("b", pod={"env": [{"name": "A", "value": "x"}, {"name": "B", "value": "${x}"}]})),
        "spec.tasks[0].pod.env[1].value",
    ),
    "an image": (workflow(python("b", image="${tasks.b.result}")), "spec.tasks[0].image"),
    "a script": (workflow({"name": "b", "container": {"script": "echo ${HOME}"}}), "spec.tasks[0].container.script"),
    "a variable of a program": (
        workflow({"name": "b", "container": {"env": [{"name": "A", "value": "${x}"}]}}),
        "spec.tasks[0].container.env[0].value",
    ),
    "a command of a step": (
        workflow({"name": "b", "container": {"steps": [{"name": "x", "command": ["${x}"]}]}}),
        "spec.tasks[0].container.steps[0].command",
    ),
    "an image of a step": (
        workflow({"name": "b", "container": {"steps": [{"name": "x", "image": "${tasks.b.result}"}]}}),
        "spec.tasks[0].container.steps[0].image",
    ),
    "a path of a result": (
        workflow({"name": "b", "container": {"command": ["x"], "result": {"path": "/tmp/${params.x}"}}}),
        "spec.tasks[0].container.result",
    ),
    "an input": (
        workflow({"name": "b", "files": {"in": [{"name": "x", "from": {"text": "${x}"}}]}, "container": {"args": []}}),
        "spec.tasks[0].files.in[0].from",
    ),
    "a path of an input": (
        workflow(
            {"name": "b", "files": {"in": [{"name": "x", "from": {"text": "x"}, "path": "/dev/x"}]}, "container": {}}
        ),
        "spec.tasks[0].files.in[0].path",
    ),
    "a path of an output": (
        workflow({"name": "b", "files": {"out": [{"name": "x", "path": "/dev/x"}]}, "container": {"command": ["x"]}}),
        "spec.tasks[0].files.out[0].path",
    ),
    "a pod field": (
        workflow(python("b", pod={"labels": {"a": "x", "a.b/c": "${x}"}})),
        "spec.tasks[0].pod.labels[a.b/c]",
    ),
    "a name in a volume": (
        workflow(python("b", pod={"volumes": [{"name": "v", "secret": {"secretName": "${tasks.b.result}"}}]})),
        "spec.tasks[0].pod.volumes[0].secret.secretName",
    ),
    "an expression that is not evaluated": (
        workflow(python("b", pod={"tolerations": [{"key": "${params.x}"}]})),
        "spec.tasks[0].pod.tolerations[0].key",
    ),
    "a kwarg": (workflow(wait("b", kwargs={"duration": "${params.x}"})), "spec.tasks[0].trigger.kwargs.duration"),
    "a result": (workflow(wait("b", result="evnet")), "spec.tasks[0].result"),
    "a failure": (workflow(wait("b", failWhen="event.")), "spec.tasks[0].failWhen"),
    "variables": (workflow(python("b", args={"x": "${variables.x}"})), "spec.tasks[0].args.x"),
    "results": (
        workflow(python("a", expandKwargs=[{}]), python("b", args={"x": "${tasks.a.result}"})),
        "spec.tasks[1].args.x",
    ),
    "a cycle": (workflow(python("a", after=["b"]), python("b", after=["a"])), "spec.tasks[0].after"),
    "after a hook": (workflow(python("a", hook="end"), python("b", after=["a"])), "spec.tasks[1].after"),
    "a group's list": (
        workflow(
            python("b", group="cities"), groups=[_GROUP | {"expand": [{"name": "city", "over": "${tasks.b.results}"}]}]
        ),
        "spec.groups[0].expand[0].over",
    ),
    "a group without tasks": (workflow(python("b"), groups=[_GROUP]), "spec.groups[0].name"),
    "another group": (
        workflow(python("b", when="groups.cities.index > 0"), python("c", group="cities"), groups=[_GROUP]),
        "spec.tasks[0].when",
    ),
}


@pytest.mark.parametrize("case", PLACED)
def test_a_problem_of_the_operator_is_found_at_its_field(case: str) -> None:
    body, path = PLACED[case]
    problem = dag.build(WorkflowSpec.model_validate(body["spec"]))
    assert isinstance(problem, dag.GraphProblem)
    assert (path, problem.message) in {(other.path, other.message) for other in lint(body)}


_OF_SECRET = {"name": "v", "secret": {"secretName": "${tasks.b.result}"}}
_DEFAULTS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a label": ({"pod": {"labels": {"a.b/c": "${x}"}}}, {}, "spec.defaults.pod.labels[a.b/c]"),
    "a variable": (
        {"pod": {"env": [{"name": "B", "value": "${x}"}]}},
        {"pod": {"env": [{"name": "A", "value": "x"}]}},
        "spec.defaults.pod.env[0].value",
    ),
    "a volume beside one of the task": (
        {"pod": {"volumes": [{"name": "other", "emptyDir": {}}, _OF_SECRET]}},
        {"pod": {"volumes": [{"name": "own", "emptyDir": {}}]}},
        "spec.defaults.pod.volumes[1].secret.secretName",
    ),
    "a volume of the task beside one of the defaults": (
        {"pod": {"volumes": [{"name": "other", "emptyDir": {}}]}},
        {"pod": {"volumes": [_OF_SECRET]}},
        "spec.tasks[0].pod.volumes[0].secret.secretName",
    ),
    "a list that is not merged": (
        {"pod": {"tolerations": [{"key": "a"}, {"key": "${params.x}"}]}},
        {},
        "spec.defaults.pod.tolerations[1].key",
    ),
    "a rule of retries": ({"retries": {"limit": 1, "when": "nobody"}}, {}, "spec.defaults.retries.when"),
    "a rule of the task": ({"retries": {"limit": 1}}, {"retries": {"when": "nobody"}}, "spec.tasks[0].retries.when"),
    "an image": ({"image": "x:${tasks.lost.result}"}, {}, "spec.defaults.image"),
}


@pytest.mark.parametrize("case", _DEFAULTS)
def test_a_problem_of_the_defaults_is_found_where_it_is_written(case: str) -> None:
    defaults, fields, path = _DEFAULTS[case]
    spec = {"defaults": defaults, "tasks": [python("b", **fields), python("c")]}
    if "image" not in defaults:
        spec["image"] = "x"
    body = manifest("Workflow", "run", spec)
    problem = dag.build(models.parse(body).spec)
    assert isinstance(problem, dag.GraphProblem)
    assert [other.path for other in lint(body) if other.rule in {LintRule.GRAPH, LintRule.EXPRESSION}] == [path]


def test_all_problems_are_found_and_not_only_the_first() -> None:
    tasks = [
        python("a", args={"x": "${tasks.lost.result}", "y": "${1 +}"}, when="nobody"),
        wait("b", kwargs={"duration": "${params.x}"}),
        python("c", after=["d"]),
        python("d", after=["c"]),
    ]
    paths = [
        problem.path for problem in lint(workflow(*tasks)) if problem.rule in {LintRule.GRAPH, LintRule.EXPRESSION}
    ]
    assert sorted(paths) == [
        "spec.tasks[0].args.x",
        "spec.tasks[0].args.y",
        "spec.tasks[0].when",
        "spec.tasks[1].trigger.kwargs.duration",
        "spec.tasks[2].after",
    ]


def test_a_wrong_duration_does_not_hide_the_graph() -> None:
    paths = [problem.path for problem in lint(workflow(python("a", timeout="soon", args={"x": "${params.lost}"})))]
    assert set(paths) == {"spec.tasks[0].args.x", "spec.tasks[0].timeout"}
