"""What helps after a failure: a retry, or first a change of the code, the pod, the Workflow, or its values. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from torpor_wire.reason import Reason

from torpor_views import json_fields
from torpor_views.causes import commands
from torpor_views.model import RunView


class Remedy(Enum):
    """What must change before a task that failed can succeed."""

    RETRY = auto()
    """Nothing that the reason names: a retry may help."""
    CODE = auto()
    """The code of the task: in its image, or in the ConfigMap of `source`."""
    POD = auto()
    """The image or the pod."""
    WORKFLOW = auto()
    """The Workflow, whose tasks cannot change."""
    VALUES = auto()
    """The values of an expression, or the expression."""
    ADDRESS = auto()
    """The address of a wait, or what the administrator allows."""
    TRIGGER_CLASS = auto()
    """The class of a wait, its pool, or what the triggerers of the pool register."""


REMEDIES: Mapping[str, Remedy] = {
    **dict.fromkeys(
        (
            Reason.MODULE_NOT_FOUND,
            Reason.FUNCTION_NOT_FOUND,
            Reason.RESULT_INVALID,
            Reason.DEFERRAL_INVALID,
            Reason.BRANCH_INVALID,
        ),
        Remedy.CODE,
    ),
    **dict.fromkeys((Reason.LAUNCH_FAILED, Reason.IMAGE_PULL_FAILED), Remedy.POD),
    **dict.fromkeys(
        (
            Reason.ARGUMENTS_INVALID,
            Reason.ARGUMENTS_TOO_LARGE,
            Reason.FILE_MISSING,
            Reason.TRIGGER_INVALID,
            Reason.ANSWER_TOO_LARGE,
            Reason.EXPRESSION_INVALID,
            Reason.EXPRESSION_TOO_EXPENSIVE,
            Reason.PARAMS_INVALID,
            Reason.TEMPLATE_INVALID,
            Reason.TEMPLATE_NOT_ALLOWED,
            Reason.RUN_NAME_TAKEN,
            Reason.RUN_LIMIT_REACHED,
            Reason.OBJECT_REFUSED,
        ),
        Remedy.WORKFLOW,
    ),
    **dict.fromkeys((Reason.EXPRESSION_FAILED, Reason.EXPAND_INVALID), Remedy.VALUES),
    Reason.ADDRESS_DENIED: Remedy.ADDRESS,
    Reason.TRIGGER_UNKNOWN: Remedy.TRIGGER_CLASS,
    **dict.fromkeys(
        (
            Reason.ERROR,
            Reason.RESULT_NOT_STORED,
            Reason.FILE_NOT_FETCHED,
            Reason.TIMEOUT,
            Reason.LOST,
            Reason.FORBIDDEN,
            Reason.REPORT_REFUSED,
            Reason.TRIGGER_FAILED,
            Reason.TRIGGER_ENDED,
            Reason.EVENT_INVALID,
            Reason.NO_RESPONSE,
            Reason.UNEXPECTED_RESPONSE,
            Reason.FAIL_WHEN,
            Reason.FAILED_BY_EVENT,
            Reason.DEFERRAL_TIMEOUT,
            Reason.RUN_DELETED,
            Reason.OBJECT_DELETED,
            Reason.OBJECT_FORBIDDEN,
            Reason.OBJECT_TAKEN,
            Reason.SECRET_FORBIDDEN,
            Reason.SEAL_INVALID,
            Reason.STATUS_INVALID,
            Reason.CANCELLED,
            Reason.SKIPPED,
            Reason.MARKED,
        ),
        Remedy.RETRY,
    ),
}
"""The remedy of each reason of a failed attempt. A test compares it with docs/reference/reasons.md."""

_AGAIN = "; a retry fails again"
_NEW_RUN = "submit it as a new run"
_ADVICE: Mapping[Remedy, str] = {
    Remedy.RETRY: "",
    Remedy.CODE: "; fix the code in the image before a retry",
    Remedy.POD: "; fix the image or the pod before a retry",
    Remedy.WORKFLOW: f"{_AGAIN}: correct the Workflow and {_NEW_RUN}",
    Remedy.VALUES: f"{_AGAIN} with the same values: change the params, retry the task that made the values, or correct "
    f"the Workflow and {_NEW_RUN}",
    Remedy.ADDRESS: f"{_AGAIN} until an administrator allows the address (--allow-networks of the triggerer): or "
    f"correct the address and {_NEW_RUN}",
    Remedy.TRIGGER_CLASS: f"{_AGAIN} until an administrator adds the class to the pool: or correct the class or "
    f"triggerPool and {_NEW_RUN}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCause:
    """A failure. `source`: the ConfigMap with the code of the task; empty if the image has it."""

    reason: str
    source: str = ""

    @property
    def remedy(self) -> Remedy:
        """What must change; a retry after a reason that this version does not know."""
        return REMEDIES.get(self.reason, Remedy.RETRY)


def advice(failure: FailureCause) -> str:
    """Return the end of a sentence that says what to do before a retry; empty if a retry alone may help."""
    if failure.remedy is Remedy.CODE and failure.source:
        package = ", or add the package to the image," if failure.reason == Reason.MODULE_NOT_FOUND else ""
        return f"; fix the code in ConfigMap {json_fields.one_line(failure.source, 253)}{package} before a retry"
    return _ADVICE[failure.remedy]


def command(run: RunView, failure: FailureCause, *refs: str) -> str:
    """Return the command after a failure. `refs`: what to retry, as `torpor retry` takes it."""
    again = commands.retry(run, *refs)
    match failure.remedy:
        case Remedy.RETRY:
            return again
        case Remedy.CODE if failure.source:
            return f"{commands.edit_config_map(run, failure.source)}; {again}"
        case Remedy.CODE | Remedy.POD:
            return f"{commands.edit(run)}; {again}"
        case Remedy.WORKFLOW | Remedy.VALUES | Remedy.ADDRESS | Remedy.TRIGGER_CLASS:
            return commands.submit(run)


def of_message(run: RunView, message: str, *refs: str) -> str:
    """Return the commands of the message of a failure; after one that creates a missing right, the retry.

    Empty without a command.
    """
    suggested = commands.within(message, run.namespace)
    return f"{suggested}; {commands.retry(run, *refs)}" if " create " in suggested else suggested
