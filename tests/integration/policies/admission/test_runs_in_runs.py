"""What the policies reject in a task that is a run of a template."""

from typing import Any

import pytest

from tests.integration.conftest import Server
from tests.support.manifests import manifest

_RUN = {"templateRef": {"name": "child"}}
_PYTHON = {"name": "b", "python": "m:f", "image": "x"}


def workflow(*tasks: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return manifest("Workflow", "run", {"tasks": list(tasks)} | spec)


REJECTED: dict[str, tuple[dict[str, Any], str]] = {
    "a run and a function": (workflow(_PYTHON | {"run": _RUN}), "task b: a task has exactly one body"),
    "a run with fields of a pod": (
        workflow({"name": "a", "run": _RUN, "image": "x", "args": {"day": 1}}),
        "task a: a task with run has no pod: remove image, args; params of the run go to run.params",
    ),
    "a run with a pool": (
        workflow({"name": "a", "run": _RUN, "pool": "gpu"}),
        "task a: a task with run has no pod: remove pool; params of the run go to run.params",
    ),
    "an item that is also a param of the run": (
        workflow({"name": "a", "run": _RUN | {"params": {"n": 1}}, "expand": [{"name": "n", "over": [1]}]}),
        "task a: argument n is in both expand and args, trigger.kwargs or run.params; remove one",
    ),
    "a result of a task that does not wait for its run": (
        workflow({"name": "a", "run": _RUN | {"wait": False, "timeout": "1h"}, "result": "event.name"}),
        "the name and uid of the run as its result: remove run.timeout, run.deletionPolicy, result and failWhen",
    ),
    "one name for the runs of all instances": (
        workflow({"name": "a", "run": _RUN | {"name": "load"}, "expand": [{"name": "n", "over": [1, 2]}]}),
        "task a: each instance starts a run, and no two have one name: use run.name: load-${mapping.index}",
    ),
    "a deletion policy of another engine": (
        workflow({"name": "a", "run": _RUN | {"deletionPolicy": "Orphan"}}),
        'Unsupported value: "Orphan": supported values: "Delete", "Retain"',
    ),
    "a param of a run that YAML reads as true": (
        workflow({"name": "a", "run": _RUN | {"params": {"true": 1}}}),
        "task a: ",
    ),
}


def test_a_run_of_a_template_is_admitted(server: Server, namespace: str) -> None:
    task = {"name": "a", "run": _RUN | {"params": {"n": "${params.n}"}}}
    server.create("workflows", namespace, workflow(task, params={"n": 1})).expect(201)


@pytest.mark.parametrize("case", REJECTED)
def test_a_run_with_fields_of_another_body_is_rejected(server: Server, namespace: str, case: str) -> None:
    body, message = REJECTED[case]
    answer = server.create("workflows", namespace, body)
    assert answer.status == 422, answer.message
    assert message in answer.message
