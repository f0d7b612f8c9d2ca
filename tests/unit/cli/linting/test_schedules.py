"""`torpor lint` of WorkflowTemplates, Schedules, Backfills, and runs of templates."""

from typing import Any

import pytest
from torpor_cli.linting.finding import Severity

from tests.support.manifests import manifest
from tests.unit.cli.linting.findings import lint

_TASK = {"name": "a", "python": "m:f", "image": "x"}
_NO_BODY = {"name": "b"}
_TYPE_ERROR = "TypeError: Time.__init__() missing 1 required positional argument: 'at'; it takes at"
_NO_TIME = f"trigger time refuses its kwargs: {_TYPE_ERROR}"
_NIGHTLY = {"name": "nightly", "cron": "0 2 * * *", "timezone": "Europe/Berlin"}


def body(kind: str, **spec: Any) -> dict[str, Any]:
    return manifest(kind, "x", spec)


def template(*params: Any, **workflow: Any) -> dict[str, Any]:
    return body("WorkflowTemplate", params=list(params), workflow={"tasks": [_TASK], **workflow})


def schedule(*sources: Any, **spec: Any) -> dict[str, Any]:
    reference = {} if "workflow" in spec else {"templateRef": {"name": "ingest"}}
    return body("Schedule", sources=list(sources or [_NIGHTLY]), **reference, **spec)


def findings_of(document: Any) -> list[tuple[str, str, str]]:
    return [(problem.path, str(problem.rule), problem.message) for problem in lint(document)]


def task_of(**fields: Any) -> dict[str, Any]:
    return {"tasks": [{**_TASK, **fields}]}


@pytest.mark.parametrize(
    "good",
    [
        template({"name": "day"}, {"name": "limit", "type": "integer", "default": 4}),
        template({"name": "day"}, **task_of(args={"day": "${params.day}", "bucket": "${params.bucket}"}))
        | {
            "spec": {
                "params": [{"name": "day"}],
                "workflow": {**task_of(args={"d": "${params.day}"}), "params": {"b": 1}},
            }
        },
        schedule(),
        schedule({"name": "daily", "cron": "@daily"}, {"name": "often", "cron": "*/10 * * * * *"}),
        schedule({"name": "drop", "trigger": {"class": "duration", "kwargs": {"duration": "1m"}}}),
        schedule(when="event.at != '' && previous == null", params={"day": "${at}", "from": "${source}"}),
        schedule(workflow=task_of(args={"day": "${params.day}"}), params={"day": "${at}"}),
        body("Backfill", schedule="nightly", **{"from": "2026-11-01T00:00:00Z", "to": "2026-11-04T00:00:00Z"}),
    ],
)
def test_a_valid_object_has_no_findings(good: dict[str, Any]) -> None:
    assert findings_of(good) == []


def test_the_workflow_of_a_template_is_checked_at_its_place() -> None:
    tasks = [{**_TASK, "args": {"day": "${params.dya}"}, "retires": {}}, {"name": "b", "trigger": {"class": "time"}}]
    assert findings_of(template({"name": "day"}, tasks=tasks)) == [
        ("spec.workflow.tasks[0].args.day", "graph", "task a: args: day: unknown param dya; params: day"),
        (
            "spec.workflow.tasks[0].retires",
            "unknown-field",
            'unknown field "spec.workflow.tasks[0].retires"; did you mean "retries"?',
        ),
        ("spec.workflow.tasks[1].trigger", "trigger", _NO_TIME),
    ]


def test_a_message_names_the_field_of_the_template() -> None:
    ((path, rule, message),) = findings_of(template(tasks=[{**_TASK, "image": "Ü"}]))
    assert (path, rule) == ("spec.workflow.tasks[0].image", "image")
    assert message.startswith("spec.workflow.tasks[0].image: ")


def test_a_workflow_in_a_schedule_is_checked_with_the_params_of_the_schedule() -> None:
    bad = schedule(workflow=task_of(args={"day": "${params.day}", "x": "${params.limit}"}), params={"day": "${at}"})
    assert findings_of(bad) == [
        ("spec.workflow.tasks[0].args.x", "graph", "task a: args: x: unknown param limit; params: day")
    ]


@pytest.mark.parametrize(
    ("source", "path", "rule", "message"),
    [
        ({"cron": "61 * * * *"}, "cron", "policy", 's: cron "61 * * * *": 61 is not valid for the minute'),
        ({"cron": "* * * * 5-1"}, "cron", "policy", 's: cron "* * * * 5-1": a range must begin with the smaller value'),
        (
            {"cron": "0 0 31 2 *"},
            "cron",
            "policy",
            's: cron "0 0 31 2 *" never ticks: none of its months has such a day',
        ),
        ({"cron": "0 0 * 2 MON#5"}, "cron", "cron", "s: cron '0 0 * 2 MON#5' ticks less often than once in 12 years"),
        ({"cron": "@dayly"}, "cron", "policy", 's: cron "@dayly" must have five fields (minute, hour, '),
        (
            {"cron": "@daily", "timezone": "Europe/Berln"},
            "timezone",
            "policy",
            's: timezone "Europe/Berln" is unknown; ',
        ),
        ({"cron": "@daily", "cursor": "now"}, "cursor", "policy", "s: the cursor of a cron source is a time such as "),
    ],
)
def test_cron_and_zone_are_checked(source: dict[str, str], path: str, rule: str, message: str) -> None:
    ((at, found_rule, text),) = findings_of(schedule(_NIGHTLY, {"name": "s", **source}))
    assert (at, found_rule) == (f"spec.sources[1].{path}", rule)
    assert text.startswith(f"source {message}")


_AMBIGUOUS = {"class": "cron", "kwargs": {"expression": "0 6 */2 * MON-FRI"}}


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (schedule({"name": "s", "cron": "0 6 */2 * MON-FRI"}), "spec.sources[0].cron"),
        (schedule({"name": "s", "trigger": _AMBIGUOUS}), "spec.sources[0].trigger.kwargs.expression"),
        (body("Workflow", tasks=[{"name": "a", "trigger": _AMBIGUOUS}]), "spec.tasks[0].trigger.kwargs.expression"),
        (template(tasks=[{"name": "a", "trigger": _AMBIGUOUS}]), "spec.workflow.tasks[0].trigger.kwargs.expression"),
    ],
)
def test_days_that_mean_something_else_elsewhere_are_a_warning(document: dict[str, Any], path: str) -> None:
    (finding,) = lint(document)
    assert (finding.path, finding.severity) == (path, Severity.WARNING)
    assert "a day must match both day fields, because one of them begins with *" in finding.message
    assert "write 1-31/2 for */2 as day of month" in finding.message


@pytest.mark.parametrize(
    ("kwargs", "path", "rule", "message"),
    [
        ({"stats": 200}, ".stats", "trigger", "trigger http refuses its kwargs: TypeError: "),
        ({"body_condition": "${at}"}, "", "policy", "source s: trigger.kwargs.body_condition contains an expression; "),
        ({"cursor": "x"}, "", "policy", "source s: trigger.kwargs has cursor, which the operator sets; "),
        ({"headers": {"Host": "x"}}, ".headers", "policy", "source s: trigger.kwargs.headers: Host cannot be set: "),
    ],
)
def test_the_trigger_of_a_source_is_checked(kwargs: dict[str, Any], path: str, rule: str, message: str) -> None:
    source = {"name": "s", "trigger": {"class": "http", "kwargs": {"url": "https://example.org", **kwargs}}}
    ((at, found_rule, text),) = findings_of(schedule(source))
    assert (at, found_rule) == (f"spec.sources[0].trigger.kwargs{path}", rule)
    assert text.startswith(message)


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ({"default": 1}, "param p: the default must be a string, not 1"),
        ({"type": "integer", "enum": [1, "a"]}, 'param p: each value of enum must be an integer, not "a"'),
        ({"enum": ["a"], "default": "b"}, 'param p: the default must be one of "a", not "b"'),
        ({"pattern": "[a-z]+", "default": "B"}, 'param p: the default must match [a-z]+, not "B"'),
        ({"required": True, "default": "b"}, "param p is required and has a default; remove one of them"),
    ],
)
def test_the_params_of_a_template_are_checked(param: dict[str, Any], message: str) -> None:
    assert findings_of(template({"name": "q"}, {"name": "p", **param})) == [("spec.params[1]", "policy", message)]


def test_a_param_cannot_be_a_constant_as_well() -> None:
    message = "param p is also in workflow.params; remove one of them"
    assert findings_of(template({"name": "p"}, params={"p": 1})) == [("spec.params[0]", "policy", message)]


def test_a_run_of_a_template_sets_only_params_and_suspend() -> None:
    bad = body("Workflow", templateRef={"name": "x"}, image="i:1", parallelism=50)
    message = "a run of a template sets only params and suspend, the rest is the template's: remove spec.image"
    assert findings_of(bad) == [("spec.image", "policy", f"{message}, or templateRef")]


def test_only_the_operator_sets_run_of() -> None:
    run_of = {"schedule": "x", "uid": "u", "at": "2026-11-01T00:00:00Z"}
    ((path, rule, message),) = findings_of(body("Workflow", tasks=[_TASK], runOf=run_of))
    assert (path, rule) == ("spec", "policy")
    assert message.startswith("spec.runOf is the event that started a run; only the operator can set it")


@pytest.mark.parametrize("kind", ["Schedule", "Backfill", "WorkflowTemplate"])
def test_names_of_params_are_checked_in_each_kind(kind: str) -> None:
    period = {"from": "2026-11-01T00:00:00Z", "to": "2026-11-02T00:00:00Z"}
    bad = {
        "Schedule": schedule(params={"Day": 1}),
        "Backfill": body("Backfill", schedule="x", params={"Day": 1}, **period),
        "WorkflowTemplate": template(params={"Day": 1}),
    }[kind]
    path = "spec.workflow.params.Day" if kind == "WorkflowTemplate" else "spec.params.Day"
    found_here = findings_of(bad)
    assert [problem[:2] for problem in found_here] == [(path, "policy")]
    assert "is not an identifier" in found_here[0][2]


def test_a_task_of_a_template_is_named_by_the_policy_at_its_place() -> None:
    bad = template(tasks=[_TASK, {**_TASK, "name": "b", "after": ["lost"]}])
    message = "task b: `after` names lost: no such task or group"
    assert findings_of(bad) == [("spec.workflow.tasks[1].after", "policy", message)]


@pytest.mark.parametrize(
    ("spec", "path", "message"),
    [
        ({"when": "evnt.size > 0"}, "spec.when", "when: "),
        ({"when": "event.size >"}, "spec.when", "when: "),
        ({"params": {"day": "${params.x}"}}, "spec.params.day", "params day: "),
        ({"params": {"day": ["${at"]}}, "spec.params.day", "params day: "),
    ],
)
def test_the_expressions_of_a_schedule_see_the_event(spec: dict[str, Any], path: str, message: str) -> None:
    ((at, rule, text),) = findings_of(schedule(**spec))
    assert (at, rule) == (path, "expression")
    assert text.startswith(message)


@pytest.mark.parametrize(
    ("bad", "path", "message"),
    [
        (schedule(workflow={"tasks": [_TASK]}, templateRef={"name": "x"}), "spec", "exactly one of templateRef and "),
        (schedule({"name": "s"}), "spec.sources[0]", "a source is a cron expression or a trigger"),
        (schedule(allOf=["lost"]), "spec.allOf", "allOf names a source that does not exist"),
        (
            schedule(notBefore="2026-11-02T00:00:00Z", notAfter="2026-11-01T00:00:00Z"),
            "spec.notAfter",
            "notBefore must be before notAfter",
        ),
        (template({"name": "n", "type": "integer", "pattern": "x"}), "spec.params[0].pattern", "pattern is for "),
        (
            body("Backfill", schedule="x", **{"from": "2026-11-02T00:00:00Z", "to": "2026-11-01T00:00:00Z"}),
            "spec.to",
            "from must be before to",
        ),
    ],
)
def test_the_rules_of_each_schema_are_evaluated(bad: dict[str, Any], path: str, message: str) -> None:
    problems = [(problem.path, problem.message) for problem in lint(bad) if problem.rule == "crd-rule"]
    assert [problem[0] for problem in problems] == [path]
    assert message in problems[0][1]


@pytest.mark.parametrize(
    ("bad", "path", "message"),
    [
        (template(suspend=True), "spec.workflow", "spec.workflow: suspend, stop and cancel are fields of a run"),
        (template(tasks=[_NO_BODY]), "spec.workflow.tasks[0]", "task b: a task has exactly one body"),
        (schedule(workflow={"params": {"a": 1}}), "spec.workflow.tasks", "spec.workflow: set tasks"),
        (schedule(params={"my-day": 1}), "spec.params.my-day", 'param "my-day" is not an identifier'),
        (body("Workflow", params={"a": 1}), "spec.tasks", "set tasks, or templateRef with params"),
    ],
)
def test_the_rules_of_each_workflow_are_evaluated(bad: dict[str, Any], path: str, message: str) -> None:
    problems = [(problem.path, problem.message) for problem in lint(bad) if problem.rule == "policy"]
    assert [problem[0] for problem in problems] == [path]
    assert message in problems[0][1]


@pytest.mark.parametrize(
    ("kind", "meant"), [("Schedul", "Schedule"), ("WorkflowTemplat", "WorkflowTemplate"), ("Backfil", "Backfill")]
)
def test_a_misspelled_kind_names_the_nearest(kind: str, meant: str) -> None:
    ((_, rule, message),) = findings_of(body(kind))
    assert rule == "kind"
    assert message.endswith(f'did you mean "{meant}"?')


def test_a_run_of_a_template_needs_no_tasks() -> None:
    assert findings_of(body("Workflow", templateRef={"name": "ingest"}, params={"day": "x"})) == []


@pytest.mark.parametrize("expression", ["${run.at}", "${run.event.name}", "${run.previous.name}"])
def test_every_task_sees_the_run(expression: str) -> None:
    tasks = [{**_TASK, "args": {"x": expression}}]
    assert findings_of(body("Workflow", tasks=tasks)) == []
    assert findings_of(template(tasks=tasks)) == []
    assert findings_of(schedule(workflow={"tasks": tasks})) == []
