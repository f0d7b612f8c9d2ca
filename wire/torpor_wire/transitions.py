"""Every transition of a TaskRun as one fenced JSON Patch on its status.

A patch begins with `test` operations that pin what its writer saw (uid, state, attempt, segment, launch). The API
server applies all or nothing, so of any number of writers who believe it is their turn, one wins and the others get
422. Leases only say who should work; this says who may write. Clearing a field is `add null`, since `remove` fails on
an absent path and the API server prunes nulls.
"""

from typing import NamedTuple, TypeAlias

from torpor_wire import conditions, constants, retry, text, times
from torpor_wire.canonical import Json
from torpor_wire.reason import Reason
from torpor_wire.state import EDGES, State
from torpor_wire.trigger import Trigger

Patch: TypeAlias = list[dict[str, Json]]


class Pin(NamedTuple):
    """What a writer saw of a TaskRun and what must still hold when it writes; `launch` None is not compared."""

    uid: str
    created: str
    state: State
    attempt: int
    segment: int
    launch: int | None = None


class Claim(NamedTuple):
    """Who claims a segment: a pod, and a random word of the one process in it that won."""

    pod: str
    pod_uid: str
    nonce: str


def claim(pin: Pin, who: Claim, *, started: str | None, now: float) -> Patch:
    """Scheduled -> Running, before any user code. `started` is the attempt's first start, kept over its segments."""
    sets: dict[str, Json] = {
        "pod": {"name": who.pod, "uid": who.pod_uid, "claim": who.nonce},
        "startedAt": started or times.rfc3339(now),
    }
    return _transition(pin, State.RUNNING, sets=sets, clears=("message", "reason"))


def defer(pin: Pin, trigger: Trigger, *, resume: Json, deadline: float | None, now: float) -> Patch:
    """Running or Scheduled -> Deferred. `resume` is `{method, kwargs}` (kwargs as JSON text), None without a pod."""
    sets: dict[str, Json] = {
        "trigger": trigger.on_status(),
        "next": resume,
        "deferredAt": times.rfc3339(now),
        "deadline": None if deadline is None else times.rfc3339(deadline),
    }
    if pin.state is State.SCHEDULED:
        sets["startedAt"] = times.rfc3339(now)
    return _transition(pin, State.DEFERRED, sets=sets, clears=("event", "timedOut", "message", "reason"))


def fire(pin: Pin, event: str | None, *, deferred: float, now: float) -> Patch:
    """Deferred -> Scheduled with the event's JSON text: the fire. One commits for each (uid, attempt, segment).

    `deferred` is how many seconds the attempt has been deferred, this wait included. No event: the wait took too long,
    and the task goes on where it said that it would then.
    """
    _expect(pin, State.DEFERRED)
    sets: dict[str, Json] = {
        "event": event,
        "firedAt": times.rfc3339(now),
        "segment": pin.segment + 1,
        "launch": 0,
        "deferredSeconds": round(max(deferred, 0.0), 3),
    }
    if event is None:
        sets["timedOut"] = True
    return _transition(pin, State.SCHEDULED, sets=sets, clears=("trigger", "pod", "deadline", "message", "reason"))


def succeed(pin: Pin, result: str | None, *, now: float, stored: Json = None) -> Patch:
    """Running or Deferred -> Succeeded with the result's JSON text, or with what the archive said of it (adr/0012)."""
    if result is not None and stored is not None:
        raise ValueError("a result stands on the TaskRun or in the archive, not in both")
    wait = ("trigger", "deadline") if pin.state is State.DEFERRED else ()
    sets: dict[str, Json] = {"result": result, "completionTime": times.rfc3339(now)}
    if stored is not None:
        sets["stored"] = stored
    return _transition(pin, State.SUCCEEDED, sets=sets, clears=(*wait, "message", "reason"))


def fail(  # noqa: PLR0913 - what is said of a failure
    pin: Pin, policy: retry.Policy, *, reason: Reason, message: str, now: float, log: str = ""
) -> Patch:
    """To UpForRetry while the policy allows another attempt, else to Failed; `Policy()` where a retry cannot help."""
    again = retry.next_attempt_at(policy, pin.attempt, now)
    sets: dict[str, Json] = {"reason": reason, "message": shorten(message)}
    if log:
        sets["log"] = shorten(log, constants.LOG_MAX)
    sets |= {"completionTime": times.rfc3339(now)} if again is None else {"retryAt": times.rfc3339(again)}
    to = State.FAILED if again is None else State.UP_FOR_RETRY
    return _transition(pin, to, sets=sets, clears=("trigger", "deadline"))


def skip(pin: Pin, *, message: str, now: float) -> Patch:
    """Running or Deferred -> Skipped: the task, or the event it waited for, says that there is nothing to do.

    A retry would say the same, so none follows.
    """
    sets: dict[str, Json] = {
        "reason": Reason.SKIPPED,
        "message": shorten(message),
        "completionTime": times.rfc3339(now),
    }
    return _transition(pin, State.SKIPPED, sets=sets, clears=("trigger", "deadline"))


def retry_now(pin: Pin, *, first_started: str | None = None) -> Patch:
    """UpForRetry -> Scheduled: the next attempt, with nothing left of the former one but `retryAt`, when it began.

    `first_started` is the first attempt's start, which is kept over all of them.
    """
    _expect(pin, State.UP_FOR_RETRY)
    sets: dict[str, Json] = {"attempt": pin.attempt + 1, "segment": 0, "launch": 0}
    if first_started is not None:
        sets["firstStartedAt"] = first_started
    clears = (
        *("next", "event", "pod", "message", "reason", "log"),
        *("startedAt", "deferredAt", "deferredSeconds", "firedAt", "timedOut", "deadline"),
    )
    return _transition(pin, State.SCHEDULED, sets=sets, clears=clears)


def relaunch(pin: Pin) -> Patch:
    """Scheduled or Running -> Scheduled after the pod was disrupted: the attempt is not used up."""
    _expect(pin, State.SCHEDULED, State.RUNNING)
    launch = 1 if pin.launch is None else pin.launch + 1
    return _transition(pin, State.SCHEDULED, sets={"launch": launch}, clears=("pod", "message", "reason"))


def cancel(pin: Pin, *, message: str, now: float) -> Patch:
    """Any state that is not terminal -> Cancelled."""
    sets: dict[str, Json] = {
        "reason": Reason.CANCELLED,
        "message": shorten(message),
        "completionTime": times.rfc3339(now),
    }
    return _transition(pin, State.CANCELLED, sets=sets, clears=("trigger", "deadline"))


def ask_cancel(pin: Pin, *, now: float) -> Patch:
    """Leaves a wait Deferred and asks its triggerer to run `on_kill` and to write Cancelled."""
    return [*_tests(pin), {"op": "add", "path": "/status/cancel", "value": times.rfc3339(now)}]


def explain(pin: Pin, *, reason: Reason, message: str) -> Patch:
    """Says on the object why it does not move, without a transition (an image that cannot be pulled, say)."""
    return [*_tests(pin), *_values(pin, pin.state, {"reason": reason, "message": shorten(message)})]


def unexplain(pin: Pin) -> Patch:
    """Takes back what `explain` said: it moves again."""
    return [*_tests(pin), *_values(pin, pin.state, {"reason": None, "message": None})]


def shorten(message: str, limit: int = constants.MESSAGE_MAX) -> str:
    """The message, printable and within its limit of bytes of UTF-8, its middle left out: its ends say the most."""
    data = text.printable(message).encode()
    if len(data) <= limit:
        return data.decode()
    half = limit // 2 - 4
    return data[:half].decode(errors="ignore") + " ... " + data[-half:].decode(errors="ignore")


def _expect(pin: Pin, *states: State) -> None:
    """Three edges lead to Scheduled, so the state they come from tells them apart."""
    if pin.state not in states:
        raise ValueError(f"{pin.state} is not {' or '.join(states)}, which this edge leads out of")


def _transition(pin: Pin, to: State, *, sets: dict[str, Json], clears: tuple[str, ...]) -> Patch:
    if (pin.state, to) not in EDGES:
        raise ValueError(f"{pin.state} -> {to} is not an edge of the state machine")
    cleared: dict[str, Json] = dict.fromkeys(clears)
    return [*_tests(pin), *_values(pin, to, {"state": to} | cleared | sets)]


def _tests(pin: Pin) -> Patch:
    pinned: dict[str, Json] = {
        "/metadata/uid": pin.uid,
        "/status/state": pin.state,
        "/status/attempt": pin.attempt,
        "/status/segment": pin.segment,
    }
    if pin.launch is not None:
        pinned["/status/launch"] = pin.launch
    return [{"op": "test", "path": path, "value": value} for path, value in pinned.items()]


def _values(pin: Pin, to: State, fields: dict[str, Json]) -> Patch:
    stands = conditions.succeeded(
        to,
        created=pin.created,
        completed=_text(fields.get("completionTime")),
        reason=_text(fields.get("reason")),
        message=_text(fields.get("message")),
    )
    fields = fields | {"conditions": [stands]}
    return [{"op": "add", "path": f"/status/{name}", "value": value} for name, value in fields.items()]


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
