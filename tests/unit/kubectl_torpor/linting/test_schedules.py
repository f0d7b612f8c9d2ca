"""`torpor lint` of WorkflowTemplates, Schedules, Backfills, and runs of templates."""

from typing import Any

import pytest
from kubectl_torpor.linting.finding import Severity

from tests.unit.kubectl_torpor.linting.findings import lint

_TASK = {"name": "a", "python": "m:f", "image": "x"}
_TYPE_ERROR = "TypeError: Time.__init__() missing 1 required positional argument: 'at'; it takes at"
_NO_TIME = f"trigger time refuses its kwargs: {_TYPE_ERROR}"
_NIGHTLY = {"name": "nightly", "cron": "0 2 * * *", "timezone": "Europe/Berlin"}


def body(kind: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "torpor.dev/v1alpha1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def template(*params: Any, **workflow: Any) -> dict[str, Any]:
    return body("WorkflowTemplate", params=list(params), workflow={"tasks": [_TASK], **workflow})


def schedule(*sources: Any, **spec: Any) -> dict[str, Any]:
    reference = {} if "workflow" in spec else {"templateRef": {"name": "ingest"}}
    return body("Schedule", sources=list(sources or [_NIGHTLY]), **reference, **spec)


def found(document: Any) -> list[tuple[str, str, str]]:
    return [(one.path, str(one.rule), one.message) for one in lint(document)]


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
    assert found(good) == []


def test_the_workflow_of_a_template_is_checked_at_its_place() -> None:
    tasks = [{**_TASK, "args": {"day": "${params.dya}"}, "retires": {}}, {"name": "b", "trigger": {"class": "time"}}]
    assert found(template({"name": "day"}, tasks=tasks)) == [
        ("spec.workflow.tasks[0].args.day", "graph", "task a: args: day: unknown param dya; params: day"),
        (
            "spec.workflow.tasks[0].retires",
            "unknown-field",
            'unknown field "spec.workflow.tasks[0].retires"; did you mean "retries"?',
        ),
        ("spec.workflow.tasks[1].trigger", "trigger", _NO_TIME),
    ]


def test_a_message_names_the_field_of_the_template() -> None:
    ((path, rule, message),) = found(template(tasks=[{**_TASK, "image": "Ü"}]))
    assert (path, rule) == ("spec.workflow.tasks[0].image", "image")
    assert message.startswith("spec.workflow.tasks[0].image: ")


def test_a_workflow_in_a_schedule_is_checked_with_the_params_of_the_schedule() -> None:
    bad = schedule(workflow=task_of(args={"day": "${params.day}", "x": "${params.limit}"}), params={"day": "${at}"})
    assert found(bad) == [
        ("spec.workflow.tasks[0].args.x", "graph", "task a: args: x: unknown param limit; params: day")
    ]


@pytest.mark.parametrize(
    ("source", "path", "message"),
    [
        ({"cron": "61 * * * *"}, "cron", "source s: cron '61 * * * *': '61' is not valid for the minute"),
        ({"cron": "0 0 31 2 *"}, "cron", "source s: cron '0 0 31 2 *' never ticks: "),
        ({"cron": "@dayly"}, "cron", "source s: cron '@dayly' has 1 fields; "),
        ({"cron": "@daily", "timezone": "Europe/Berln"}, "timezone", 'source s: timezone "Europe/Berln" is unknown; '),
    ],
)
def test_cron_and_zone_are_checked(source: dict[str, str], path: str, message: str) -> None:
    ((at, rule, text),) = found(schedule({"name": "s", **source}))
    assert (at, rule) == (f"spec.sources[0].{path}", "cron")
    assert text.startswith(message)


def test_the_trigger_of_a_source_is_checked_and_is_not_evaluated() -> None:
    wrong = {"name": "s", "trigger": {"class": "http", "kwargs": {"url": "https://example.org", "stats": 200}}}
    assert [one[:2] for one in found(schedule(wrong))] == [("spec.sources[0].trigger.kwargs.stats", "trigger")]
    text = {"name": "s", "trigger": {"class": "http", "kwargs": {"url": "https://example.org/${at}"}}}
    (one,) = lint(schedule(text))
    assert (one.severity, one.path) == (Severity.WARNING, "spec.sources[0].trigger.kwargs")
    assert one.message == "source s: the arguments of a source are not evaluated: ${at} stays text"


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
    ((at, rule, text),) = found(schedule(**spec))
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
        (template(suspend=True), "spec.workflow", "suspend, stop and cancel are fields of a run"),
        (template({"name": "n", "type": "integer", "pattern": "x"}), "spec.params[0].pattern", "pattern is for "),
        (
            body("Backfill", schedule="x", **{"from": "2026-11-02T00:00:00Z", "to": "2026-11-01T00:00:00Z"}),
            "spec.to",
            "from must be before to",
        ),
        (body("Workflow", params={"a": 1}), "spec.tasks", "set tasks, or templateRef with params"),
    ],
)
def test_the_rules_of_each_schema_are_evaluated(bad: dict[str, Any], path: str, message: str) -> None:
    problems = [(one.path, one.message) for one in lint(bad) if one.rule == "crd-rule"]
    assert [one[0] for one in problems] == [path]
    assert message in problems[0][1]


@pytest.mark.parametrize(
    ("kind", "meant"), [("Schedul", "Schedule"), ("WorkflowTemplat", "WorkflowTemplate"), ("Backfil", "Backfill")]
)
def test_a_misspelled_kind_names_the_nearest(kind: str, meant: str) -> None:
    ((_, rule, message),) = found(body(kind))
    assert rule == "kind"
    assert message.endswith(f'did you mean "{meant}"?')
