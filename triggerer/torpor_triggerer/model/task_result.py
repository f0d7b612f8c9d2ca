"""What a task that is only a wait makes of its event: whether it fails, and what its result is.

The expressions are a stranger's, as any; what they come to is an outcome.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from torpor_cel.errors import ExpressionError
from torpor_cel.value import Value
from torpor_wire import canonical, constants
from torpor_wire.canonical import Json
from torpor_wire.reason import Reason

from torpor_triggerer.model import outcome
from torpor_triggerer.model.deferred_taskrun import Ending, Wait
from torpor_triggerer.model.outcome import Done, Failed, Fired, Said

Evaluate: TypeAlias = Callable[[str, Mapping[str, Json], str], Awaitable[Value | ExpressionError]]
"""The value of an expression, over these variables, of a namespace."""

_EVENT_SHOWN = 300
_EVENT_SEEN = 256 * 1024


async def of_event(evaluate: Evaluate, wait: Wait, came: Fired | Done, page: Said) -> Fired | Done | Failed:
    """What becomes of a wait's event: as the task's pod decodes it, or what a task without a pod makes of it.

    An event that ends the task is its result, which is plain JSON.
    """
    if isinstance(came, Done):
        return Done(result=came.result and outcome.plain(came.result, page))
    fired = outcome.fitting(came, page)
    if wait.resumes:
        return fired
    plain = outcome.without_types(fired, page)
    return plain if wait.ending is None else await judged(evaluate, wait.namespace, wait.ending, plain)


async def judged(evaluate: Evaluate, namespace: str, ending: Ending, fired: Fired) -> Fired | Done | Failed:
    """The outcome of a wait of a namespace whose event has come."""
    if len(fired.event) > _EVENT_SEEN:
        message = f"failWhen and result see an event of {_EVENT_SEEN} characters; this one has {len(fired.event)}"
        return Failed(reason=Reason.EXPRESSION_TOO_EXPENSIVE, message=message)
    variables = {"event": json.loads(fired.event), "params": json.loads(ending.params)}
    if ending.fail_when is not None:
        failed = _verdict(ending.fail_when, await evaluate(ending.fail_when, variables, namespace), fired)
        if failed is not None:
            return failed
    if ending.result is None:
        return fired
    return _result(await evaluate(ending.result, variables, namespace))


def _verdict(expression: str, found: Value | ExpressionError, fired: Fired) -> Failed | None:
    match found:
        case ExpressionError():
            return _wrong("failWhen", found)
        case Value(json=False):
            return None
        case Value(json=True):
            shown = fired.event if len(fired.event) <= _EVENT_SHOWN else fired.event[:_EVENT_SHOWN] + "..."
            return Failed(reason=Reason.FAIL_WHEN, message=f"failWhen is true: {expression}; the event: {shown}")
        case Value(json=value):
            message = f"failWhen yields a {type(value).__name__}, not true or false: {expression}"
            return Failed(reason=Reason.EXPRESSION_FAILED, message=message)


def _result(found: Value | ExpressionError) -> Done | Failed:
    if isinstance(found, ExpressionError):
        return _wrong("result", found)
    text = canonical.plain(found.json)
    size = len(text.encode())
    if size > constants.EVENT_STORED_MAX:
        message = f"result is {size} bytes of JSON; {constants.EVENT_STORED_MAX} fit in the archive"
        return Failed(reason=Reason.RESULT_INVALID, message=message)
    return Done(result=text)


def _wrong(where: str, error: ExpressionError) -> Failed:
    return Failed(reason=Reason(error.reason), message=f"{where}: {error.message}")
