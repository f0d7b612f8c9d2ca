"""What the API server rejects in a Schedule: by the policies torpor-schedule and torpor-timezone, and by the CRD."""

import json
from typing import Any

import pytest
from torpor_wire import times
from torpor_wire.cron.ticks import Ticks

from tests.integration.conftest import Answer, Server, eventually
from tests.support.manifests import manifest

_PATH = "/apis/torpor.dev/v1alpha1/namespaces/{}/schedules/nightly"
_TASKS = {"tasks": [{"name": "load", "python": "m:f", "image": "x"}]}
_HTTP = {"class": "http", "kwargs": {"url": "https://example.org/ready"}}


def schedule(*sources: dict[str, Any], **spec: Any) -> dict[str, Any]:
    given = list(sources) or [cron("@daily")]
    return manifest("Schedule", "nightly", {"sources": given, "workflow": _TASKS} | spec)


def cron(expression: str, **source: Any) -> dict[str, Any]:
    return {"name": "night", "cron": expression} | source


def trigger(kind: str, kwargs: dict[str, Any], **source: Any) -> dict[str, Any]:
    return {"name": "landed", "trigger": {"class": kind, "kwargs": kwargs}} | source


ADMITTED_CRON = [
    "* * * * *",
    "*/15 0-6,12 1,15 jan-MAR,12 Mon-Fri",
    "0 0 * * 7",
    "0 0 L * *",
    "0 0 LW,15 * *",
    "0 0 * * 5L",
    "0 0 * * fri#2,MON#1",
    "00 06 * * *",
    "30 0 6 * * *",
    "*/10 * * * * *",
    "5/20 1-20/3 */2 1/2 */7",
    "  0   6 * *\t* ",
    "*/100 * * * *",
    "@daily",
    " @Hourly ",
    "0 6 ? * MON",
    "0 0 30 2 MON",
]
# The text of the message behind the expression.
REJECTED_CRON = {
    "0 6 * *": "must have five fields (minute, hour, day of month, month, day of week), six with the second first, or"
    " be one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly",
    "0 0 6 * * * *": "must have five fields",
    "   ": "must have five fields",
    "@reboot": "must have five fields",
    "@daily 6": "must have five fields",
    "61 * * * *": "61 is not valid for the minute",
    "60 * * * * *": "60 is not valid for the second",
    "* 24 * * *": "24 is not valid for the hour",
    "* * 0 * *": "0 is not valid for the day of month",
    "* * 32 * *": "32 is not valid for the day of month",
    "* * * 13 *": "13 is not valid for the month",
    "* * * MAI *": "MAI is not valid for the month",
    "* * * * 8": "8 is not valid for the day of week",
    "* * * * MONDAY": "MONDAY is not valid for the day of week",
    "* * * * FRI#6": "FRI#6 is not valid for the day of week",
    "* * L-3 * *": "L-3 is not valid for the day of month",
    "* ? * * *": "? is not valid for the hour; write *; only the day fields accept ?",
    "0 0 * * L5": "L5 is not valid for the day of week; write 5L for the last Friday of a month",
    "0 0 30,31 FEB *": "never ticks: none of its months has such a day",
    "0 0 31 4,6 ?": "never ticks: none of its months has such a day",
    "*/0 * * * *": "*/0 is not valid for the minute",
    "*/5/5 * * * *": "*/5/5 is not valid for the minute",
    "1,,2 * * * *": "1,,2 is not valid for the minute",
    "1- * * * *": "1- is not valid for the minute",
    "-1 * * * *": "-1 is not valid for the minute",
    "1.5 * * * *": "1.5 is not valid for the minute",
    "H * * * *": "H is not valid for the minute",
    "0 22-6 * * *": "a range must begin with the smaller value; days of the week are 0 (SUN) to 7 (SUN)",
    "0 0 * * FRI-MON": "a range must begin with the smaller value",
    "0 0 * 1,NOV-FEB/2 *": "a range must begin with the smaller value",
}
REJECTED = {
    "an unknown time zone": (
        schedule(cron("@daily", timezone="Europe/Berln")),
        'source night: timezone "Europe/Berln" is unknown; use an IANA name such as Europe/Berlin',
    ),
    "an empty time zone": (schedule(cron("@daily", timezone="")), 'timezone "" is unknown'),
    "a time zone in lower case": (schedule(cron("@daily", timezone="europe/berlin")), "is unknown; use an IANA name"),
    "an offset as a time zone": (schedule(cron("@daily", timezone="+02:00")), 'timezone "+02:00" is unknown'),
    "the time zone of a trigger": (
        schedule(trigger("http", {"url": "x"}, timezone="UTC")),
        "timezone is for cron",
    ),
    "a cursor that is no time": (
        schedule(cron("@daily", cursor="yesterday")),
        "source night: the cursor of a cron source is a time such as 2026-01-31T06:00:00Z",
    ),
    "a time without an offset": (schedule(cron("@daily", cursor="2026-01-31T06:00:00")), "the cursor of a cron source"),
    "cursor as an argument": (
        schedule(trigger("redis", {"url": "redis://x", "cursor": "0-1"})),
        "source landed: trigger.kwargs has cursor, which the operator sets; use cursor of the source for the first",
    ),
    "an expression in an argument": (
        schedule(trigger("http", {"url": "https://example.org/${params.day}"})),
        "source landed: trigger.kwargs.url contains an expression; a source waits before there is a run, so its",
    ),
    "an expression deep in an argument": (
        schedule(trigger("http", {"url": "x", "headers": {"X-Day": ["a", {"b": "${run.at}"}]}})),
        "source landed: trigger.kwargs.headers contains an expression",
    ),
    "an argument with a dash": (
        schedule(trigger("http", {"my-url": "x"})),
        'source landed: argument "my-url" is not an identifier: use lower-case letters, digits and underscores',
    ),
    "an argument named on": (
        schedule(trigger("http", {"true": "x"})),
        "source landed: an argument has the name true or false: YAML reads an unquoted y, n, yes, no, on or off",
    ),
    "a header that the client owns": (
        schedule(trigger("http", {"url": "x", "headers": {"Host": "y"}})),
        "source landed: trigger.kwargs.headers: Host cannot be set: the HTTP client writes it; remove it",
    ),
    "a param with a dash": (
        schedule(params={"my-day": 1}),
        'param "my-day" is not an identifier: use lower-case letters, digits and underscores, and begin with a letter',
    ),
    "a param named n": (schedule(params={"false": 1}), "a param has the name true or false: YAML reads an unquoted y"),
    "a workflow with an unknown task": (
        schedule(workflow={"tasks": [_TASKS["tasks"][0] | {"after": ["lod"]}]}),
        "task load: `after` names lod: no such task or group",
    ),
    "a param of the workflow with a dash": (
        schedule(workflow=_TASKS | {"params": {"my-day": 1}}),
        'param "my-day" is not an identifier',
    ),
    "a param nested too deep": (schedule(params={"a": json.loads("[" * 25 + "]" * 25)}), "at most 20 levels deep"),
    "an argument nested too deep": (
        schedule(trigger("http", {"body": json.loads("[" * 25 + "]" * 25)})),
        "at most 20 levels deep",
    ),
    "a source with neither": (schedule({"name": "a"}), "a source is a cron expression or a trigger"),
    "a source with both": (schedule(cron("@daily", trigger=_HTTP)), "a source is a cron expression or a trigger"),
    "two sources of one name": (schedule(cron("@daily"), cron("@hourly")), "Duplicate value"),
    "an unknown source": (schedule(allOf=["night", "day"]), "allOf names a source that does not exist"),
    "within without allOf": (schedule(within="1h"), "within is for allOf"),
    "within as a number": (schedule(allOf=["night"], within="60"), "spec.within"),
    "jitter in words": (schedule(jitter="5 minutes"), "spec.jitter"),
    "missed within weeks": (schedule(missed={"within": "1w"}), "spec.missed.within"),
    "an unknown policy for missed ticks": (
        schedule(missed={"run": "First"}),
        'supported values: "None", "Last", "All"',
    ),
    "notBefore that is no time": (schedule(notBefore="tomorrow"), "spec.notBefore"),
    "a period that ends before it begins": (
        schedule(notBefore="2026-02-01T00:00:00Z", notAfter="2026-01-01T00:00:00Z"),
        "notBefore must be before notAfter",
    ),
    "a template and a workflow": (
        schedule(templateRef={"name": "ingest"}),
        "set exactly one of templateRef and workflow",
    ),
}


@pytest.fixture
def place(server: Server, namespace: str) -> str:
    """A namespace in which the policies are in force."""
    bad_cron, bad_zone = schedule(cron("61 * * * *")), schedule(cron("@daily", timezone="Europe/Berln"))
    eventually(lambda: "torpor-schedule" in _dry(server, namespace, bad_cron), "cron expressions are checked")
    eventually(lambda: "torpor-timezone" in _dry(server, namespace, bad_zone), "time zones are checked")
    return namespace


def _dry(server: Server, namespace: str, body: dict[str, Any]) -> str:
    return server.create("schedules", namespace, body, dryRun="All").message


def _merge(server: Server, namespace: str, patch: dict[str, Any]) -> Answer:
    return server.request("PATCH", _PATH.format(namespace), patch, content_type="application/merge-patch+json")


@pytest.mark.parametrize("case", REJECTED)
def test_a_schedule_is_rejected(server: Server, place: str, case: str) -> None:
    body, said = REJECTED[case]
    answer = server.create("schedules", place, body)
    assert answer.status == 422, answer.message
    assert answer.body["reason"] == "Invalid"
    assert said in answer.message


@pytest.mark.parametrize("expression", REJECTED_CRON)
def test_an_invalid_cron_expression_is_rejected(server: Server, place: str, expression: str) -> None:
    answer = server.create("schedules", place, schedule(cron(expression)))
    assert answer.status == 422, answer.message
    assert answer.body["reason"] == "Invalid"
    assert f'source night: cron "{expression}"' in answer.message
    assert REJECTED_CRON[expression] in answer.message
    with pytest.raises(ValueError, match="cron"):
        Ticks.parse(expression, None)


@pytest.mark.parametrize("expression", ADMITTED_CRON)
def test_a_cron_expression_is_admitted(server: Server, place: str, expression: str) -> None:
    server.create("schedules", place, schedule(cron(expression))).expect(201)
    assert Ticks.parse(expression, None).next(times.epoch("2026-01-01T00:00:00Z"))


def test_a_schedule_with_all_kinds_of_sources_is_admitted(server: Server, place: str) -> None:
    sources = (
        cron("0 6 * * MON-FRI", timezone="Europe/Berlin", cursor="2026-01-31T06:00:00.000+01:00"),
        {"name": "utc", "cron": "0 6 * * *", "timezone": "UTC"},
        trigger("redis", {"url": "redis://x", "stream": "s"}, cursor="0-1", pool="other", serviceAccount="reader"),
        {"name": "built", "trigger": {"class": "workflow"}},
        {"name": "price", "trigger": {"class": "http", "kwargs": {"url": "https://example.org/$price"}}},
    )
    spec = {
        "allOf": ["night", "landed"],
        "within": "1d",
        "params": {"day": "${at}"},
        "when": "event.size > 0",
        "jitter": "5m",
        "missed": {"within": "1h30m", "run": "All"},
        "notBefore": "2026-01-01T00:00:00Z",
    }
    server.create("schedules", place, schedule(*sources, **spec)).expect(201)


def test_twenty_sources_of_the_longest_expressions_are_within_the_cost_limit(server: Server, place: str) -> None:
    longest = ",".join(["MON"] * 49)
    sources = [{"name": f"s{number}", "cron": f"0 0 * * {longest[:191]}", "timezone": "Zulu"} for number in range(20)]
    server.create("schedules", place, schedule(*sources)).expect(201)


def test_an_update_is_checked_if_it_changes_the_spec(server: Server, place: str) -> None:
    server.create("schedules", place, schedule()).expect(201)
    answer = _merge(server, place, {"spec": {"sources": [cron("@dayly")]}})
    assert "torpor-schedule" in answer.message
    _merge(server, place, {"spec": {"sources": [cron("@weekly")], "suspend": True}}).expect(200)
    _merge(server, place, {"metadata": {"annotations": {"torpor.dev/run": "now"}}}).expect(200)


_WAIT = {"class": "cron", "kwargs": {"expression": "0 6 */2 * MON-FRI"}}
_WITH_A_WAIT = {"tasks": [{"name": "morning", "trigger": _WAIT}]}


@pytest.mark.parametrize(
    ("kind", "body", "subject"),
    [
        ("schedules", schedule(cron("0 6 */2 * MON-FRI")), "source night"),
        ("schedules", schedule({"name": "landed", "trigger": _WAIT}), "source landed"),
        ("workflows", {"kind": "Workflow", "spec": _WITH_A_WAIT}, "task morning"),
        ("workflowtemplates", {"kind": "WorkflowTemplate", "spec": {"workflow": _WITH_A_WAIT}}, "task morning"),
    ],
)
def test_days_that_mean_something_else_elsewhere_are_a_warning(
    server: Server, place: str, kind: str, body: dict[str, Any], subject: str
) -> None:
    made = {"apiVersion": "torpor.dev/v1alpha1", "metadata": {"generateName": "warned-"}} | body
    eventually(lambda: bool(server.create(kind, place, made, dryRun="All").warnings), "the policy warns")
    answer = server.create(kind, place, made, dryRun="All")
    answer.expect(201)
    (text,) = answer.warnings
    assert f"torpor-cron-warning' with binding 'torpor-cron-warning': {subject}: " in text
    assert "a day must match both day fields, because one of them begins with *" in text


def test_an_expression_with_one_day_field_is_no_warning(server: Server, place: str) -> None:
    assert server.create("schedules", place, schedule(cron("0 6 */2 * *")), dryRun="All").warnings == []
