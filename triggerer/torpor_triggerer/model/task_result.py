"""Computes the result of a task without a pod from its event. A failed expression is an outcome, too."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import Value
from torpor_wire import canonical, constants, trigger
from torpor_wire.canonical import Json
from torpor_wire.reason import Reason

from torpor_triggerer.model import outcome
from torpor_triggerer.model.deferred_taskrun import EndExpressions, TriggerWait
from torpor_triggerer.model.outcome import Done, Failed, Fired, RedactingLog

Evaluate: TypeAlias = Callable[[str, Mapping[str, Json], str], Awaitable[Value | ExpressionError]]
"""Returns the value of an expression over variables, for a namespace."""

_EVENT_SHOWN = 300
_EVENT_SEEN = 256 * 1024


async def evaluate_event(
    evaluate: Evaluate, wait: TriggerWait, ended: Fired | Done, wait_log: RedactingLog
) -> Fired | Done | Failed:
    """Return the outcome of an event: as the task's pod decodes it, or the result of a task without a pod.

    An event that ends the task is its result, which is plain JSON. The source of a Schedule does not end: such an event
    is one like any other. Expressions read the events of a Schedule, so they are plain JSON, too.
    """
    if wait.of_schedule:
        return _of_schedule(ended, wait_log)
    if isinstance(ended, Done):
        return Done(result=ended.result and outcome.plain(ended.result, wait_log))
    fired = outcome.shorten_error(ended, wait_log)
    if wait.resumes:
        return fired
    plain = outcome.without_types(fired, wait_log)
    return (
        plain
        if wait.expressions is None
        else await apply_expressions(evaluate, wait.namespace, wait.expressions, plain, class_name=_class(wait))
    )


def run_with_archived_result(wait: TriggerWait, ended: Fired | Done) -> str | None:
    """The name of the run in a run whose result, which the archive has, is that of the task; None if it is not."""
    if not wait.run_depth or wait.trigger is None or not isinstance(ended, Fired):
        return None
    event = json.loads(ended.event)
    is_archived = trigger.parse(wait.trigger.kwargs).get("whole") is True and event.get("truncated") is True
    return str(event["name"]) if is_archived else None


def _class(wait: TriggerWait) -> str:
    return "" if wait.trigger is None else wait.trigger.class_name


def _of_schedule(ended: Fired | Done, wait_log: RedactingLog) -> Fired:
    fired = Fired(event=ended.result or "null") if isinstance(ended, Done) else ended
    return outcome.without_types(outcome.shorten_error(fired, wait_log), wait_log)


async def apply_expressions(
    evaluate: Evaluate, namespace: str, expressions: EndExpressions, fired: Fired, *, class_name: str = ""
) -> Fired | Done | Failed:
    """Return the outcome of an event after `failWhen` and `result`. `class_name`: of the trigger, for messages."""
    if len(fired.event) > _EVENT_SEEN:
        message = f"failWhen and result see an event of {_EVENT_SEEN} characters; this one has {len(fired.event)}"
        return Failed(reason=Reason.EXPRESSION_TOO_EXPENSIVE, message=message)
    variables = {
        "event": json.loads(fired.event),
        "params": json.loads(expressions.params),
        "run": json.loads(expressions.run),
    }
    if expressions.fail_when is not None:
        value = await evaluate(expressions.fail_when, variables, namespace)
        failed = _rejected(class_name, variables["event"], value) or _verdict(expressions.fail_when, value, fired)
        if failed is not None:
            return failed
    if expressions.result is None:
        return fired
    return _result(await evaluate(expressions.result, variables, namespace))


def _rejected(class_name: str, event: Json, verdict: Value | ExpressionError) -> Failed | None:
    """Return the failure by a rejected approval, in the words of the person who rejected; None for any other event."""
    match class_name, event, verdict:
        case trigger.APPROVAL, {"approved": False, "by": None}, Value(json=True):
            return Failed(reason=Reason.FAIL_WHEN, message="rejected by default: nobody answered in time")
        case trigger.APPROVAL, {"approved": False, "by": str() as by, **rest}, Value(json=True):
            note = f": {rest['note']}" if rest.get("note") else ""
            return Failed(reason=Reason.FAIL_WHEN, message=f"rejected by {by}{note}")
        case "any_of", {"class": str() as inner, "event": of_inner}, Value():
            return _rejected(inner, of_inner, verdict)
        case _:
            return None


def _verdict(expression: str, verdict: Value | ExpressionError, fired: Fired) -> Failed | None:
    match verdict:
        case ExpressionError():
            return _wrong("failWhen", verdict)
        case Value(json=False):
            return None
        case Value(json=True):
            shown = fired.event if len(fired.event) <= _EVENT_SHOWN else fired.event[:_EVENT_SHOWN] + "..."
            return Failed(reason=Reason.FAIL_WHEN, message=f"failWhen is true: {expression}; the event: {shown}")
        case Value(json=value):
            message = f"failWhen yields a value of type {type(value).__name__}, not true or false: {expression}"
            return Failed(reason=Reason.EXPRESSION_FAILED, message=message)


def _result(value: Value | ExpressionError) -> Done | Failed:
    if isinstance(value, ExpressionError):
        return _wrong("result", value)
    text = canonical.plain(value.json)
    size = len(text.encode())
    if size > constants.EVENT_STORED_MAX:
        message = f"result is {size} bytes of JSON; {constants.EVENT_STORED_MAX} fit in the archive"
        return Failed(reason=Reason.RESULT_INVALID, message=message)
    return Done(result=text)


def _wrong(where: str, error: ExpressionError) -> Failed:
    return Failed(reason=Reason(error.reason), message=f"{where}: {error.message}")
