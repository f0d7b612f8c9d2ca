"""The name `run` in expressions: the run, and the event that started it.

A run that a user created has its creation as its time, and no event. Hooks also see the outcome of the run.
"""

import json

from torpor_crds.models.run_of import PreviousRun
from torpor_crds.models.workflow import Workflow
from torpor_expressions import errors
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON

FIELDS = ("name", "at", "event", "previous", "schedule", "source")
OUTCOME = ("state", "reason", "message")


def value(workflow: Workflow) -> dict[str, JSON] | ExpressionError:
    """The value of `run`, with all of FIELDS; null where the run has none."""
    metadata, run_of = workflow.metadata, workflow.spec.run_of
    run: dict[str, JSON] = dict.fromkeys(FIELDS)
    run |= {"name": metadata.name, "at": metadata.creation_timestamp or None}
    if run_of is None:
        return run
    try:
        event: JSON = json.loads(run_of.event or "null")
        previous = None if run_of.previous is None else previous_value(run_of.previous)
    except (ValueError, RecursionError) as error:
        return errors.failed(f"spec.runOf is not valid JSON: {error}")
    schedule: dict[str, JSON] = {"schedule": run_of.schedule, "source": run_of.source}
    return run | schedule | {"at": run_of.at, "event": event, "previous": previous}


def previous_value(run: PreviousRun) -> JSON:
    """The value of the run before this one, with its parsed result; null where it has none."""
    return {"name": run.name, "at": run.at, "state": run.state, "result": json.loads(run.result or "null")}


def problem(name: str, *, hook: bool) -> str | None:
    """What is wrong with a field of `run` in an expression; None if it exists."""
    if name in FIELDS or (hook and name in OUTCOME):
        return None
    if name in OUTCOME:
        return f"run.{name}: only hooks see the outcome of the run"
    known = ", ".join(f"`{each}`" for each in (*FIELDS, *(OUTCOME if hook else ())))
    return f"run.{name}: unknown field; fields of run: {known}"
