"""The runs that are independent of each other: submitted all at once, looked at one by one.

Some are meant to fail. That the good ones pass beside them is what "nothing else disturbed" means.
"""

from collections.abc import Mapping
from typing import Any

import yaml
from torpor_demo.cluster import ROOT
from torpor_wire import constants

IMAGE = "torpor-e2e:dev"
Spec = Mapping[str, Any]


def python(name: str, function: str, **fields: Any) -> dict[str, Any]:
    """A task that calls a function of the tests' image."""
    return {"name": name, "python": f"e2e_tasks:{function}", **fields}


def container(name: str, script: str, **fields: Any) -> dict[str, Any]:
    """A task that runs a shell script instead of a function."""
    return {"name": name, "container": {"command": ["sh", "-c", script]}, **fields}


def with_tools(name: str, script: str) -> dict[str, Any]:
    """The same with torpor-tool in its pod."""
    return {"name": name, "container": {"command": ["sh", "-c", script], "tools": True}}


def wait(name: str, length: str, **fields: Any) -> dict[str, Any]:
    """A task that is a wait and no more."""
    return {"name": name, "trigger": {"class": "duration", "kwargs": {"duration": length}}, **fields}


def spec(*tasks: dict[str, Any], **fields: Any) -> Spec:
    """The spec of a Workflow over the tests' image."""
    return {"image": IMAGE, "runtime": "Image", "tasks": list(tasks), **fields}


def single_task(function: str, **fields: Any) -> Spec:
    """A Workflow of one task, called `it`."""
    return spec(python("it", function, **fields))


def trigger(class_name: str, **kwargs: Any) -> Spec:
    """A Workflow of one wait, called `it`."""
    return spec({"name": "it", "trigger": {"class": class_name, "kwargs": kwargs}})


def pooled(class_name: str, **kwargs: Any) -> Spec:
    """The same in the pool whose triggerer has the tests' own trigger classes."""
    return {**trigger(class_name, **kwargs), "triggerPool": "e2e"}


def example() -> Spec:
    """The spec of the README's first run."""
    spec: Spec = yaml.safe_load((ROOT / "examples/census.yaml").read_text())["spec"]
    return spec


GOOD: Mapping[str, Spec] = {
    "good": spec(
        python("first", "echo", args={"value": [1, 2.0, None, {"b": 1, "a": "ü"}]}),
        python("second", "echo", args={"value": "${tasks.first.result}"}),
    ),
    "resumed": single_task("wait", args={"length": "3s", "kept": {"b": [1.0, None], "a": "ü"}}),
    "twice": single_task("WaitTwice", args={"length": "1s"}),
    "flaky": single_task("flaky", args={"good_from": 3}, retries={"limit": 3, "delay": "2s", "backoff": 2}),
    "contained": spec(
        container("it", 'echo "{\\"day\\": \\"$day\\"}" > /dev/termination-log', args={"day": "friday"}),
        python("reader", "echo", args={"value": "${tasks.it.result.day}"}),
    ),
    "uploaded": spec(
        with_tools("it", "(echo [0; seq -f ', %.0f' 40000; echo ]) > /tmp/it && /torpor/torpor-tool put /tmp/it"),
        with_tools("small", "echo '[1, 2]' | /torpor/torpor-tool put -"),
        {"name": "reader", "python": "statistics:fmean", "args": {"data": "${tasks.it.result}"}},
    ),
    "narrow": spec(
        python("it", "nap", expand=[{"name": "n", "over": [0, 1, 2, 3, 4, 5]}], args={"seconds": 1.5}), parallelism=2
    ),
    "passing": spec(wait("it", "1s"), ttlAfterFinished="2s"),
    "own-trigger": pooled("works", word="moin"),
    "kubernetes-trigger": trigger(
        "kubernetes",
        api_version=constants.API_VERSION,
        kind="Workflow",
        name="good",
        condition="object.status.state == 'Succeeded'",
    ),
    "branches": spec(
        python("root", "echo", args={"value": 1}),
        python("unwanted", "echo", when="tasks.root.result > 1"),
        python("after_unwanted", "echo", after=["unwanted"]),
        python("empty", "echo", expand=[{"name": "value", "over": "${[tasks.root.result].filter(n, n > 1)}"}]),
        python("clean_up", "echo", after=["unwanted"], rule="all_done"),
    ),
}

FAILING: dict[str, tuple[Spec, str]] = {
    "no-module": (spec({"name": "it", "python": "nowhere.tasks:load"}), "ModuleNotFound"),
    "no-function": (single_task("nap_"), "FunctionNotFound"),
    "exits": (spec(container("it", "echo no more tea; exit 3")), "Error"),
    "no-program": (spec({"name": "it", "container": {"command": ["/no/such/program"]}}), "LaunchFailed"),
    "no-argument": (single_task("needs"), "ArgumentsInvalid"),
    "raises": (single_task("broken", retries={"limit": 1, "delay": "1s"}), "Error"),
    "gives-up": (single_task("hopeless", retries={"limit": 3}), "Error"),
    "result-not-json": (single_task("not_json"), "ResultInvalid"),
    "state-not-json": (single_task("keep_not_json"), "DeferralInvalid"),
    "state-too-large": (single_task("keep_too_much"), "DeferralInvalid"),
    "kwargs-too-large": (single_task("wait_at_length", args={"length": 5000}), "DeferralInvalid"),
    "kwargs-not-json": (single_task("wait_for_object"), "DeferralInvalid"),
    "trigger-unknown": (single_task("wait_for", args={"name": "tide", "kwargs": {}}), "TriggerUnknown"),
    "trigger-invalid": (single_task("wait_for", args={"name": "http", "kwargs": {"uri": "x"}}), "TriggerInvalid"),
    "task-trigger-unknown": (trigger("tide", port="Hamburg"), "TriggerUnknown"),
    "task-trigger-invalid": (trigger("time", at="teatime"), "TriggerInvalid"),
    "own-trigger-raises": (pooled("raises"), "TriggerFailed"),
    "own-trigger-ends": (pooled("ends"), "TriggerEnded"),
    "own-trigger-too-large": (pooled("too_large"), "EventInvalid"),
    "own-trigger-not-json": (pooled("not_json"), "EventInvalid"),
    "own-trigger-missing": (pooled("missing"), "TriggerUnknown"),
    "own-trigger-elsewhere": (trigger("works", word="moin"), "TriggerUnknown"),
    "wait-too-long": (single_task("wait", args={"length": "10m", "timeout": "2s"}), "DeferralTimeout"),
    "task-wait-too-long": (
        spec({"name": "it", "trigger": {"class": "duration", "kwargs": {"duration": "10m"}, "timeout": "2s"}}),
        "DeferralTimeout",
    ),
    "too-slow": (single_task("nap", args={"seconds": 600}, timeout="4s"), "Timeout"),
    "too-slow-deferred": (single_task("wait", args={"length": "10m"}, timeout="4s"), "Timeout"),
}
"""By name: a Workflow whose task `it` fails, and the reason that its TaskRun is to show."""

INVALID: dict[str, tuple[Spec, str]] = {
    "cycle": (
        spec(python("a", "echo", after=["b"]), python("b", "echo", args={"value": "${tasks.a.result}"})),
        "WorkflowInvalid",
    ),
    "no-such-task": (single_task("echo", args={"value": "${tasks.ghost.result}"}), "WorkflowInvalid"),
    "no-such-param": (single_task("echo", args={"value": "${params.ghost}"}), "WorkflowInvalid"),
    "no-cel": (single_task("echo", args={"value": "${1 +}"}), "ExpressionInvalid"),
    "cel-fails": (
        spec(
            python("before", "echo", args={"value": []}),
            python("it", "echo", args={"value": "${tasks.before.result[3]}"}),
        ),
        "ExpressionFailed",
    ),
    "cel-too-expensive": (
        spec(
            python("before", "echo", args={"value": list(range(900))}),
            python(
                "it",
                "echo",
                when="tasks.before.result.all(a, tasks.before.result.all(b, a + b >= 0 && !'x'.matches('(x+)+y')))",
            ),
        ),
        "ExpressionTooExpensive",
    ),
    "not-a-list": (single_task("echo", expand=[{"name": "value", "over": "${1 + 1}"}]), "ExpandInvalid"),
}
"""By name: a Workflow that cannot go on, and the reason that it is to show itself."""

STUCK = "no-image"
CONCURRENT_RUNS: Mapping[str, Spec] = {
    STUCK: {**single_task("echo"), "image": "registry.invalid/no-such-image:1"},
    **{name: given for name, (given, _) in (FAILING | INVALID).items()},
    **GOOD,
}
