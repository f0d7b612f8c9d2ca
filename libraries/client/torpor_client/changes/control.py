"""Suspends, resumes, stops and cancels runs: which field of the spec, and for which runs. Pure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from torpor_client.errors import UserError
from torpor_client.runs import run_state


class ControlVerb(NamedTuple):
    """A field of the spec with the value that a verb sets."""

    field: str
    value: bool


VERBS: Mapping[str, ControlVerb] = {
    "suspend": ControlVerb("suspend", True),
    "resume": ControlVerb("suspend", False),
    "stop": ControlVerb("stop", True),
    "cancel": ControlVerb("cancel", True),
}


def check(workflow: Mapping[str, Any], verb: str) -> None:
    """Raise UserError for a run that a verb does not change any more."""
    name, spec = workflow["metadata"]["name"], workflow["spec"]
    if run_state.has_ended(workflow):
        again = "; `torpor retry` runs tasks again" if verb == "resume" else ""
        raise UserError(f"cannot {verb} {name}: it has ended as {run_state.word_of(workflow)}{again}")
    if verb == "resume" and (spec.get("cancel") or spec.get("stop")):
        raise UserError(f"cannot resume {name}: it is being cancelled; after its end use `torpor retry {name}`")


def is_done(workflow: Mapping[str, Any], verb: str) -> bool:
    """Whether the spec has the value already."""
    wanted = VERBS[verb]
    return bool(workflow["spec"].get(wanted.field)) == wanted.value
