"""What helps after a failure: a retry, or first a change of the image or of the Workflow. Pure."""

from torpor_wire.reason import Reason

from torpor_views.causes import commands
from torpor_views.model import Run

_IMAGE = frozenset(
    {
        Reason.LAUNCH_FAILED,
        Reason.MODULE_NOT_FOUND,
        Reason.FUNCTION_NOT_FOUND,
        Reason.RESULT_INVALID,
        Reason.DEFERRAL_INVALID,
        Reason.BRANCH_INVALID,
    }
)
"""Reasons that a change of the image or of the pod cures. Both may change in a run."""
_WORKFLOW = frozenset(
    {
        Reason.ARGUMENTS_INVALID,
        Reason.TRIGGER_INVALID,
        Reason.EXPRESSION_INVALID,
        Reason.EXPRESSION_TOO_EXPENSIVE,
        Reason.PARAMS_INVALID,
        Reason.TEMPLATE_INVALID,
    }
)
"""Reasons that the Workflow causes; its tasks cannot change."""


def advice(reason: str) -> str:
    """Return the end of a sentence that says what to do before a retry; empty if a retry alone may help."""
    if reason in _IMAGE:
        return "; fix the image or the pod before a retry"
    return "; a retry fails again: correct the Workflow and submit it as a new run" if reason in _WORKFLOW else ""


def command(run: Run, reason: str, *refs: str) -> str:
    """Return the command after a failure with this reason. `refs`: what to retry, as `torpor retry` takes it."""
    if reason in _WORKFLOW:
        return commands.submit(run)
    again = commands.retry(run, *refs)
    return f"{commands.edit(run)}; {again}" if reason in _IMAGE else again
