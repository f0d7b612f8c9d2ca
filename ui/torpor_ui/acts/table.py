"""The acts of the page by name."""

from collections.abc import Mapping

from torpor_ui.acts.act import Act
from torpor_ui.acts.answers import AnswerAct
from torpor_ui.acts.control import ControlAct, DeleteAct
from torpor_ui.acts.new_runs import ResubmitAct, SubmitAct
from torpor_ui.acts.repeats import MarkAct, RetryAct
from torpor_ui.acts.schedules import BackfillAct, RunScheduleAct, SuspendScheduleAct

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
