"""The acts of the page by name."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from torpor_ui.acts.act import Act
from torpor_ui.acts.answers import AnswerAct
from torpor_ui.acts.control import ControlAct, DeleteAct
from torpor_ui.acts.new_runs import ResubmitAct, SubmitAct
from torpor_ui.acts.repeats import MarkAct, RetryAct
from torpor_ui.acts.rights import Rights
from torpor_ui.acts.schedules import BackfillAct, RunScheduleAct, SuspendScheduleAct
from torpor_ui.cluster.caller import Caller

ACTS: Mapping[str, Act] = {
    "retry": RetryAct(),
    "clear": RetryAct(needs_tasks=True),
    "mark": MarkAct(),
    "cancel": ControlAct("cancel"),
    "stop": ControlAct("stop"),
    "suspend": ControlAct("suspend"),
    "resume": ControlAct("resume"),
    "delete": DeleteAct(),
    "approve": AnswerAct("approve"),
    "reject": AnswerAct("reject"),
    "submit": SubmitAct(),
    "resubmit": ResubmitAct(),
    "schedule-pause": SuspendScheduleAct("pause"),
    "schedule-resume": SuspendScheduleAct("resume"),
    "schedule-run": RunScheduleAct(),
    "backfill": BackfillAct(),
}


async def acts_of(rights: Rights, caller: Caller, namespace: str) -> dict[str, Any]:
    """Return for each act whether the caller may do it in a namespace, and why not."""
    permissions = await rights.permissions(caller, namespace)
    return {name: asdict(permissions[act.right]) for name, act in ACTS.items()}
