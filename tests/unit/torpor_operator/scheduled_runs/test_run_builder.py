"""The Workflows of the runs that Schedules and Backfills start."""

from typing import Any

import pytest
from torpor_crds.models import schedule as schedules
from torpor_crds.models import workflow as workflows
from torpor_crds.models.run_of import RunOf
from torpor_crds.models.schedule import Schedule
from torpor_operator.scheduled_runs.run_builder import TICK_FIELDS, build_run, is_same_run

from tests.support.manifests import manifest

RUN_OF = RunOf(schedule="nightly", uid="u", source="cron", at="2026-03-29T01:30:00.000Z", event='{"at": "x"}')
WORKFLOW = {
    "image": "ingest:1.4",
    "params": {"region": "eu", "nothing": None},
    "tasks": [{"name": "load", "python": "ingest:load", "args": {"nothing": None}}],
}


def schedule(name: str = "nightly", **spec: Any) -> Schedule:
    return schedules.parse(
        {
            "metadata": {"name": name, "namespace": "ns", "uid": "u"},
            "spec": {"sources": [{"name": "cron", "cron": "@daily"}], **spec},
        }
    )


def test_a_run_of_a_template_has_only_the_reference_its_params_and_its_event() -> None:
    built = build_run(
        schedule(templateRef={"name": "ingest"}), name="nightly-0", run_of=RUN_OF, params={"day": "x"}, labels={}
    )

    assert built == manifest(
        "Workflow",
        "nightly-0",
        {
            "templateRef": {"name": "ingest"},
            "params": {"day": "x"},
            "suspend": False,
            "runOf": {
                "schedule": "nightly",
                "uid": "u",
                "source": "cron",
                "at": "2026-03-29T01:30:00.000Z",
                "event": '{"at": "x"}',
            },
        },
        namespace="ns",
        labels={"torpor.dev/schedule": "nightly"},
    )


def test_a_run_copies_the_embedded_workflow_and_replaces_its_params() -> None:
    built = build_run(
        schedule(workflow=WORKFLOW),
        name="nightly-0",
        run_of=RUN_OF,
        params={"region": "us"},
        labels={"torpor.dev/queued": "true"},
        suspend=True,
    )

    assert built["spec"] == {
        **WORKFLOW,
        "params": {"region": "us", "nothing": None},
        "suspend": True,
        "runOf": RUN_OF.to_json(),
    }
    assert built["metadata"]["labels"] == {"torpor.dev/schedule": "nightly", "torpor.dev/queued": "true"}
    assert workflows.parse(built).spec.run_of == RUN_OF


def test_the_label_of_a_schedule_with_a_long_name_is_a_valid_label() -> None:
    built = build_run(schedule("n" * 253, templateRef={"name": "t"}), name="n-0", run_of=RUN_OF, params={}, labels={})

    assert len(built["metadata"]["labels"]["torpor.dev/schedule"]) <= 63


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"runOf": {**RUN_OF.to_json(), "event": "another text"}}, True),
        ({"runOf": {**RUN_OF.to_json(), "at": "2026-03-30T01:30:00.000Z"}}, False),
        ({"runOf": {**RUN_OF.to_json(), "uid": "of a former Schedule"}}, False),
        ({}, False),
    ],
)
def test_a_stored_workflow_is_the_run_of_a_tick_by_its_origin(spec: dict[str, Any], expected: bool) -> None:
    body = build_run(schedule(), name="nightly-0", run_of=RUN_OF, params={}, labels={})
    assert is_same_run({"spec": spec}, body, TICK_FIELDS) is expected
