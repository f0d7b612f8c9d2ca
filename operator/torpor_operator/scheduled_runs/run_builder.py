"""Builds the Workflow of a run that a Schedule or a Backfill starts. Pure.

The run has no owner reference: `spec.deletionPolicy` of the Schedule decides what happens to it, and a Backfill leaves
its runs.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from torpor_crds.models.run_of import RunOf
from torpor_crds.models.schedule import Schedule
from torpor_expressions.value import JSON
from torpor_wire import constants, names

EVENT_FIELDS = ("uid", "source", "attempt", "segment")
"""Fields of `spec.runOf` that identify the run of an event. A Backfill may have created the run of a tick."""
TICK_FIELDS = ("uid", "source", "at")
"""Fields of `spec.runOf` that identify the run of a tick."""


def build_run(  # noqa: PLR0913 - the parts of a run
    schedule: Schedule,
    *,
    name: str,
    run_of: RunOf,
    params: Mapping[str, JSON],
    labels: Mapping[str, str],
    suspend: bool = False,
) -> dict[str, Any]:
    """The Workflow of a run, as JSON. `params` are values without expressions.

    With a template the spec has only templateRef, params and suspend: the operator copies the rest when the run starts.
    """
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "Workflow",
        "metadata": {
            "name": name,
            "namespace": schedule.metadata.namespace,
            "labels": {constants.LABEL_SCHEDULE: names.label(schedule.metadata.name), **labels},
        },
        "spec": {**_spec(schedule, params), "suspend": suspend, "runOf": run_of.to_json()},
    }


def is_same_run(stored: Mapping[str, Any], body: Mapping[str, Any], fields: Iterable[str]) -> bool:
    """Whether a stored Workflow is the run that was to be created, by these fields of `spec.runOf`."""
    origin, wanted = (workflow["spec"].get("runOf") or {} for workflow in (stored, body))
    return all(origin.get(field) == wanted.get(field) for field in fields)


def _spec(schedule: Schedule, params: Mapping[str, JSON]) -> dict[str, Any]:
    if schedule.spec.workflow is not None:
        embedded = schedule.spec.workflow.model_dump(mode="json", by_alias=True, exclude_unset=True)
        return {**embedded, "params": {**schedule.spec.workflow.params, **params}}
    reference = schedule.spec.template_ref
    return {"params": dict(params), **({} if reference is None else {"templateRef": reference.to_json()})}
