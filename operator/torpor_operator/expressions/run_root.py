"""The name `run` in expressions: the run, and the event that started it.

A run that a user created has its creation as its time, and no event. Hooks also see the outcome of the run.
"""

import json

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
    except (ValueError, RecursionError) as error:
        return errors.failed(f"spec.runOf.event is not valid JSON: {error}")
    previous: JSON = None
    if run_of.previous is not None:
        previous = {"name": run_of.previous.name, "at": run_of.previous.at, "state": run_of.previous.state}
    schedule: dict[str, JSON] = {"schedule": run_of.schedule, "source": run_of.source}
    return run | schedule | {"at": run_of.at, "event": event, "previous": previous}


def problem(name: str, *, hook: bool) -> str | None:
    """What is wrong with a field of `run` in an expression; None if it exists."""
    if name in FIELDS or (hook and name in OUTCOME):
        return None
    if name in OUTCOME:
        return f"run.{name}: only hooks see the outcome of the run"
    known = ", ".join(f"`{each}`" for each in (*FIELDS, *(OUTCOME if hook else ())))
    return f"run.{name}: unknown field; fields of run: {known}"
