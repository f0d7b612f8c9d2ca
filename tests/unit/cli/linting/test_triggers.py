"""Classes and arguments of triggers, and values that fail when a task starts."""

import re
from typing import Any

import pytest
from torpor_cli.linting import triggers
from torpor_cli.linting.finding import Severity

from tests.unit.cli.linting.findings import lint
from tests.unit.cli.linting.test_graph import workflow

_SECRET = {"secretRef": {"name": "jobs", "key": "token"}}


def task(name: str, kwargs: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"name": "a", "trigger": {"class": name, "kwargs": kwargs}} | fields


VALID: dict[str, dict[str, Any]] = {
    "a duration": task("duration", {"duration": "10m"}),
    "an expression": task("http", {"url": "${params.url}"}),
    "a Secret": task("http", {"url": "https://x.test", "headers": {"Authorization": _SECRET}}),
    "a Secret in a URL": task("sql", {"url": _SECRET, "query": "select 1"}),
    "an item": task("http", {}, expand=[{"name": "url", "over": ["https://x.test"]}]),
    "items": task("http", {}, expandKwargs=[{"url": "https://x.test"}]),
    "an item by name": task("http", {"url": "${mapping.value}"}, expand=[{"name": "any", "over": ["https://x.test"]}]),
    "several": task("any_of", {"triggers": [{"class": "duration", "kwargs": {"duration": "1h"}}]}),
    "a cron": task("cron", {"expression": "0 9 * * 1"}),
}
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "an unknown argument": (
        task("http", {"urll": "https://x.test"}),
        "spec.tasks[0].trigger.kwargs.urll",
        "trigger http refuses its kwargs: TypeError: .* unexpected keyword argument 'urll'; it takes url, method",
    ),
    "an unknown argument beside an expression": (
        task("http", {"url": "${params.url}", "interval_s": 3}),
        "spec.tasks[0].trigger.kwargs.interval_s",
        "unexpected keyword argument 'interval_s'",
    ),
    "a missing argument": (task("http", {}), "spec.tasks[0].trigger", "missing 1 required positional argument: 'url'"),
    "a wrong value": (
        task("time", {"at": "tomorrow"}),
        "spec.tasks[0].trigger.kwargs",
        "trigger time refuses its kwargs: ValueError: at='tomorrow' is not an RFC 3339 time",
    ),
    "a wrong duration": (task("duration", {"duration": "soon"}), "spec.tasks[0].trigger.kwargs", "soon"),
    "a wrong cron": (task("cron", {"expression": "every day"}), "spec.tasks[0].trigger.kwargs", "refuses its kwargs"),
    "a computed Secret": (
        task("http", {"url": "https://x.test", "headers": {"A": {"secretRef": {"name": "${params.url}", "key": "k"}}}}),
        "spec.tasks[0].trigger.kwargs.headers",
        "name and key must be literal text, without an expression",
    ),
    "large arguments": (
        task("http", {"url": "https://x.test/" + "x" * 5000}),
        "spec.tasks[0].trigger.kwargs",
        "the kwargs have 5025 bytes; the limit is 4096",
    ),
    "a part": (
        task("any_of", {"triggers": [{"class": "duration", "kwargs": {"dur": "1h"}}]}),
        "spec.tasks[0].trigger.kwargs.triggers[0].kwargs",
        "trigger duration: it has one argument, `duration`, but got",
    ),
}


@pytest.mark.parametrize("case", VALID)
def test_a_trigger_is_accepted(case: str) -> None:
    assert lint(workflow(VALID[case], params={"url": "x"})) == ()


@pytest.mark.parametrize("case", REFUSED)
def test_a_trigger_is_refused_as_in_the_triggerer(case: str) -> None:
    written, path, expected = REFUSED[case]
    problems = [(problem.path, problem.message) for problem in lint(workflow(written, params={"url": "x"}))]
    assert [message for at, message in problems if at == path and re.search(expected, message)], problems


def test_a_custom_class_is_a_warning_with_the_nearest_name() -> None:
    (problem,) = lint(workflow(task("htpp", {"url": "x"})))
    assert (problem.severity, problem.path) == (Severity.WARNING, "spec.tasks[0].trigger.class")
    assert 'did you mean "http"?' in problem.message


def test_a_custom_class_that_is_imported_is_checked() -> None:
    known = triggers.classes(triggers.entries(["resolves=own_trigger.dns:Resolves"]))
    spec = workflow(task("resolves", {"hots": "x"}))["spec"]
    (problem,) = triggers.problems(spec, known)
    assert "unexpected keyword argument 'hots'" in problem.message


@pytest.mark.parametrize("option", ["resolves", "x=", "x=nothing.here:Class", "x=json:missing", "x=json:__name__"])
def test_a_class_that_cannot_be_imported_is_an_error(option: str) -> None:
    with pytest.raises(triggers.UnusableTriggerError):
        triggers.classes(triggers.entries([option]))


def python(**fields: Any) -> dict[str, Any]:
    return {"name": "a", "python": "m:f"} | fields


@pytest.mark.parametrize(
    ("body", "path", "expected"),
    [
        (workflow(python(image="Ingest:1")), "spec.tasks[0].image", "is not an image reference"),
        (workflow(python(), image="a b"), "spec.image", "is not an image reference"),
        (workflow(python(image="${params.i}")), "spec.tasks[0].image", "unknown param i"),
        (workflow(python(image="${run.event.i}")), "spec.tasks[0].image", "only params, variables, and lists that"),
        (
            workflow(python(expand=[{"name": "x", "over": [1, 2, 3]}]), maxMapSize=2),
            "spec.tasks[0].expand",
            "task a: expand x: 3 items; at most 2 are allowed",
        ),
        (workflow(python(expandKwargs=[{}, 1])), "spec.tasks[0].expandKwargs", "a list whose item 1 is a number"),
        (workflow(python(expand=[{"name": "x", "over": []}])), "spec.tasks[0].expand", "the list is empty"),
        (
            workflow(
                python(
                    pod={
                        "volumes": [{"name": "data", "emptyDir": {}}],
                        "volumeMounts": [{"name": "dta", "mountPath": "/d"}],
                    }
                )
            ),
            "spec.tasks[0].pod.volumeMounts[0].name",
            "unknown volume dta; volumes: data; define it in pod.volumes or spec.volumeClaims",
        ),
        (
            workflow(python(pod={"resources": {"limits": {"memory": "1 GB"}}})),
            "spec.tasks[0].pod.resources.limits.memory",
            "write a quantity, such as 500m or 2Gi",
        ),
        (workflow(python(timeout="5 minutes")), "spec.tasks[0].timeout", "such as 90s, 5m, 1h30m or 7d"),
        (workflow(python(), volumeClaims=[{"name": "w", "size": "big"}]), "spec.volumeClaims[0].size", "write a size"),
        (
            workflow(python(files={"out": [{"name": "t", "path": "tmp/x"}]})),
            "spec.tasks[0].files.out[0].path",
            "write an absolute path",
        ),
        (workflow(python(), params={"x": "y" * 1_600_000}), "spec", "etcd takes at most"),
    ],
)
def test_what_fails_when_a_task_starts_is_found(body: dict[str, Any], path: str, expected: str) -> None:
    problems = [(problem.path, problem.message) for problem in lint(body)]
    assert [message for at, message in problems if at == path and expected in message], problems


@pytest.mark.parametrize(
    "image",
    [
        "ingest",
        "ingest:1.4",
        "a/b/c:d",
        "r.test:5000/a_b/c__d:1",
        "a@sha256:" + "0" * 64,
        "localhost/x:1@sha256:" + "a" * 64,
    ],
)
def test_an_image_reference_is_valid(image: str) -> None:
    assert lint(workflow(python(image=image))) == ()


@pytest.mark.parametrize("amount", ["1", "100m", "1Gi", "0.5", "1e3", "1E", "128M", "2."])
def test_a_quantity_is_valid(amount: str) -> None:
    assert lint(workflow(python(pod={"resources": {"limits": {"cpu": amount}}}))) == ()


@pytest.mark.parametrize(
    "spec",
    [
        {"volumeClaims": [{"name": "data", "size": "1Gi"}]},
        {"defaults": {"pod": {"volumes": [{"name": "data", "emptyDir": {}}]}}},
    ],
    ids=["a volume of the run", "a volume of the defaults"],
)
def test_a_task_can_mount_a_volume_that_all_tasks_have(spec: dict[str, Any]) -> None:
    assert lint(workflow(python(pod={"volumeMounts": [{"name": "data", "mountPath": "/d"}]}), **spec)) == ()
