"""Events and exceptions by which a trigger ends its task without a resume.

Such an end is final: `failWhen` and `result` do not apply, and no retry follows.
"""

from torpor.runtime import exceptions
from torpor.triggers import events
from torpor.triggers.events import EndKind, TaskEnd
from torpor_wire.reason import Reason

from torpor_triggerer.model import outcome
from torpor_triggerer.model.outcome import Done, Ended, Failed, Skipped


def of_event(event: object) -> Ended:
    """Return the outcome of what a trigger yielded."""
    try:
        end = events.task_end(event)
    except Exception as error:  # noqa: BLE001 - a trigger's own class
        message = f"failed to read the event: {type(error).__name__}: {outcome.error_text(error)}"
        return Failed(reason=Reason.EVENT_INVALID, message=message)
    return outcome.from_event(event) if end is None else _ended(end)


def of_error(error: BaseException) -> Skipped | Failed:
    """Return the outcome of what a trigger raised: a sensor may skip its task by an exception."""
    skip = exceptions.skip_of(error)
    if skip is None:
        return outcome.from_exception(error)
    return Skipped(message=outcome.error_text(skip) or "the trigger skipped the task")


def _ended(end: TaskEnd) -> Ended:
    event = outcome.from_payload(end.value)
    if isinstance(event, Failed):
        return event
    match end.kind:
        case EndKind.SUCCEEDED:
            return Done(result=event.event)
        case EndKind.FAILED:
            return Failed(reason=Reason.FAILED_BY_EVENT, message=_why(end, event.event))
        case EndKind.SKIPPED:
            return Skipped(message=_why(end, event.event))


def _why(end: TaskEnd, text: str) -> str:
    if isinstance(end.value, str) and end.value:
        return end.value
    return f"the trigger yielded {end.kind.value}" + ("" if end.value is None else f": {text}")
