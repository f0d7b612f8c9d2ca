"""Every transition of a TaskRun as a JSON Patch on its status.

A patch begins with `test` operations, which fence it: preconditions on uid, state, attempt, segment and launch as the
writer saw them. The API server applies all operations or none, so of several concurrent writers one wins and the others
get 422. A field is cleared by `add null`, because `remove` fails on a missing path and the API server prunes nulls.
Each transition also appends an entry to `status.history` (ADR 0027), in the same patch.
"""

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from torpor_wire import constants, retry, text, times
from torpor_wire.canonical import Json
from torpor_wire.reason import Reason
from torpor_wire.state import EDGES, TERMINAL, State, succeeded_condition

if TYPE_CHECKING:
    from torpor_wire.trigger import DeferredTrigger

Patch: TypeAlias = list[dict[str, Json]]


class HistorySize(NamedTuple):
    """The length of `status.history`, and the number of transitions that its first entry represents."""

    entries: int = 0
    first: int = 1


NO_HISTORY = HistorySize()


class Pin(NamedTuple):
    """The preconditions of a patch. `launch` None is not compared. `history` is as the writer saw it."""

    uid: str
    created: str
    state: State
    attempt: int
    segment: int
    launch: int | None = None
    history: HistorySize = NO_HISTORY


class Claim(NamedTuple):
    """The pod that claims a segment, the random nonce of its process, and the hash of the files of `source`."""

    pod: str
    pod_uid: str
    nonce: str
    source: str | None = None


def claim(pin: Pin, who: Claim, *, started: str | None, now: float) -> Patch:
    """Scheduled to Running, before any user code.

    `started` is the first start of the attempt, kept over its segments.
    """
    source: dict[str, Json] = {} if who.source is None else {"source": who.source}
    sets: dict[str, Json] = {
        "pod": {"name": who.pod, "uid": who.pod_uid, "claim": who.nonce, **source},
        "startedAt": started or times.rfc3339(now),
    }
    return _transition(pin, State.RUNNING, now, sets=sets, clears=("message", "reason"))


def defer(pin: Pin, trigger: "DeferredTrigger", *, resume: Json, deadline: float | None, now: float) -> Patch:
    """Running or Scheduled to Deferred. `resume` is `{method, kwargs}` with kwargs as JSON text, None without a pod."""
    sets: dict[str, Json] = {
        "trigger": trigger.on_status(),
        "next": resume,
        "deferredAt": times.rfc3339(now),
        "deadline": None if deadline is None else times.rfc3339(deadline),
    }
    if pin.state is State.SCHEDULED:
        sets["startedAt"] = times.rfc3339(now)
    return _transition(pin, State.DEFERRED, now, sets=sets, clears=("event", "timedOut", "message", "reason"))


def fire(pin: Pin, event: str | None, *, deferred: float, now: float) -> Patch:
    """Deferred to Scheduled with the JSON text of the event. It succeeds once for each uid, attempt and segment.

    `deferred` is the seconds for which the attempt has been deferred, including this deferral. No event means that the
    deferral timed out and the task resumes in `onTimeout`.
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
    clears = ("trigger", "pod", "deadline", "message", "reason")
    return _transition(pin, State.SCHEDULED, now, sets=sets, clears=clears)


def succeed(pin: Pin, result: str | None, *, now: float, stored: Json = None, files: tuple[Json, ...] = ()) -> Patch:
    """Running or Deferred to Succeeded, with JSON text or the description of an archived result (ADR 0012).

    Also Scheduled, if the TaskRun only starts a run. `files` are the descriptions of the outputs (ADR 0064).
    """
    _expect(pin, State.SCHEDULED, State.RUNNING, State.DEFERRED)
    if result is not None and stored is not None:
        raise ValueError("a result is on the TaskRun or in the archive, not both")
    wait = ("trigger", "deadline") if pin.state is State.DEFERRED else ()
    sets: dict[str, Json] = {"result": result, **_completion(pin, now)}
    if stored is not None:
        sets["stored"] = stored
    if files:
        sets["files"] = [*files]
    return _transition(pin, State.SUCCEEDED, now, sets=sets, clears=(*wait, "message", "reason"))


def fail(  # noqa: PLR0913 - the fields of a failure
    pin: Pin,
    policy: retry.Policy,
    *,
    reason: Reason,
    message: str,
    now: float,
    log: str = "",
    details: retry.FailureDetails = retry.NO_DETAILS,
) -> Patch:
    """To UpForRetry while the policy allows another attempt, else to Failed. `Policy()` allows none."""
    again = retry.next_attempt_at(policy, pin.attempt, now, uid=pin.uid, least=details.retry_after)
    sets: dict[str, Json] = {"reason": reason, "message": shorten(message)}
    if log:
        sets["log"] = shorten(log, constants.LOG_MAX)
    sets |= details.fields()
    sets |= _completion(pin, now) if again is None else {"retryAt": times.rfc3339(again)}
    to = State.FAILED if again is None else State.UP_FOR_RETRY
    return _transition(pin, to, now, sets=sets, clears=("trigger", "deadline"))


def end_retries(pin: Pin, *, reason: str, message: str, now: float) -> Patch:
    """UpForRetry to Failed: `retries.when` or `retries.for` allows no other attempt."""
    _expect(pin, State.UP_FOR_RETRY)
    sets: dict[str, Json] = {"reason": reason, "message": shorten(message), **_completion(pin, now)}
    return _transition(pin, State.FAILED, now, sets=sets, clears=("retryAt",))


def skip(pin: Pin, *, message: str, now: float) -> Patch:
    """Running or Deferred to Skipped, without a retry."""
    _expect(pin, State.RUNNING, State.DEFERRED)
    sets: dict[str, Json] = {
        "reason": Reason.SKIPPED,
        "message": shorten(message),
        **_completion(pin, now),
    }
    return _transition(pin, State.SKIPPED, now, sets=sets, clears=("trigger", "deadline"))


def mark(pin: Pin, to: State, *, result: str | None, message: str, now: float) -> Patch:
    """Scheduled to the state that a user chose, without a pod. `result` is JSON text."""
    _expect(pin, State.SCHEDULED)
    chosen: dict[str, Json] = {} if result is None else {"result": result}
    sets: dict[str, Json] = {"reason": Reason.MARKED, "message": shorten(message), **chosen, **_completion(pin, now)}
    return _transition(pin, to, now, sets=sets, clears=())


def retry_now(pin: Pin, *, now: float, first_started: str | None = None) -> Patch:
    """UpForRetry to Scheduled: the next attempt, which keeps nothing of the former but `retryAt`, the time it began.

    `first_started` is the start of the first attempt.
    """
    _expect(pin, State.UP_FOR_RETRY)
    sets: dict[str, Json] = {"attempt": pin.attempt + 1, "segment": 0, "launch": 0}
    if first_started is not None:
        sets["firstStartedAt"] = first_started
    clears = (
        *("next", "event", "pod", "message", "reason", "log", "exception", "exitCode", "httpStatus"),
        *("startedAt", "deferredAt", "deferredSeconds", "firedAt", "timedOut", "deadline"),
    )
    return _transition(pin, State.SCHEDULED, now, sets=sets, clears=clears)


def relaunch(pin: Pin, *, now: float) -> Patch:
    """Scheduled or Running to Scheduled after the pod was disrupted; the attempt does not count."""
    _expect(pin, State.SCHEDULED, State.RUNNING)
    launch = 1 if pin.launch is None else pin.launch + 1
    return _transition(pin, State.SCHEDULED, now, sets={"launch": launch}, clears=("pod", "message", "reason"))


def cancel(pin: Pin, *, message: str, now: float) -> Patch:
    """Any state that is not terminal to Cancelled."""
    sets: dict[str, Json] = {
        "reason": Reason.CANCELLED,
        "message": shorten(message),
        **_completion(pin, now),
    }
    return _transition(pin, State.CANCELLED, now, sets=sets, clears=("trigger", "deadline"))


def ask_cancel(pin: Pin, *, now: float) -> Patch:
    """Ask the triggerer of a deferral to run `on_kill` and to write Cancelled."""
    return [*_tests(pin), {"op": "add", "path": "/status/cancel", "value": times.rfc3339(now)}]


def explain(pin: Pin, *, reason: Reason, message: str) -> Patch:
    """Set reason and message without a transition, for example if an image cannot be pulled."""
    return [*_tests(pin), *_values(pin.state, {"reason": reason, "message": shorten(message)})]


def unexplain(pin: Pin) -> Patch:
    """Clear what `explain` set."""
    return [*_tests(pin), *_values(pin.state, {"reason": None, "message": None})]


def history_size(history: object) -> HistorySize:
    """Return the size of `status.history`; a value that is no history counts as empty."""
    if not isinstance(history, list) or not history:
        return NO_HISTORY
    first = history[0].get("count") if isinstance(history[0], dict) else None
    return HistorySize(len(history), first if isinstance(first, int) else 1)


def shorten(message: str, limit: int = constants.MESSAGE_MAX) -> str:
    """Return a printable message within its limit of UTF-8 bytes; the middle is cut, because the ends say the most."""
    data = text.printable(message).encode()
    if len(data) <= limit:
        return data.decode()
    half = limit // 2 - 4
    return data[:half].decode(errors="ignore") + " ... " + data[-half:].decode(errors="ignore")


def _expect(pin: Pin, *states: State) -> None:
    """Check the state, because several transitions lead to the same one."""
    if pin.state not in states:
        raise ValueError(f"the state is {pin.state}, not {' or '.join(states)}")


def _transition(pin: Pin, to: State, now: float, *, sets: dict[str, Json], clears: tuple[str, ...]) -> Patch:
    if (pin.state, to) not in EDGES:
        raise ValueError(f"{pin.state} -> {to} is not a valid transition")
    cleared: dict[str, Json] = dict.fromkeys(clears)
    values = _values(to, {"state": to} | cleared | sets)
    return [*_tests(pin), *values, *_append(pin.history, _history_entry(pin, to, now, sets))]


def _history_entry(pin: Pin, to: State, now: float, sets: dict[str, Json]) -> Json:
    """The entry of a transition: the new state and numbers, and what its readers cannot derive from them."""
    entry: dict[str, Json] = {
        "state": to,
        "attempt": sets.get("attempt", pin.attempt),
        "segment": sets.get("segment", pin.segment),
        "at": times.rfc3339(now),
    }
    if launch := sets.get("launch", pin.launch):
        entry["launch"] = launch
    if reason := sets.get("reason"):
        entry["reason"] = reason
    if isinstance(pod := sets.get("pod"), dict):
        entry["pod"] = pod["name"]
    if isinstance(trigger := sets.get("trigger"), dict):
        entry["trigger"] = trigger["class"]
    return entry


def _append(size: HistorySize, entry: Json) -> Patch:
    """Append to the history. A nearly full one is shortened first, so that a claim, which reads nothing, has room."""
    path = "/status/history"
    operations: Patch = []
    if size.entries >= constants.HISTORY_MAX - 1:
        folded = size.entries - constants.HISTORY_KEPT
        operations = [{"op": "remove", "path": f"{path}/1"} for _ in range(folded)]
        operations.append({"op": "add", "path": f"{path}/0/count", "value": size.first + folded})
    return [*operations, {"op": "add", "path": f"{path}/-", "value": entry}]


def _completion(pin: Pin, now: float) -> dict[str, Json]:
    """The fields of a terminal state. The duration is counted from the creation of the TaskRun."""
    return {"completionTime": times.rfc3339(now), "duration": times.human(now - times.epoch(pin.created))}


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


def _values(to: State, fields: dict[str, Json]) -> Patch:
    """The fields with the condition of a terminal state. An older writer may have left one in another state."""
    conditions: Json = None
    if to in TERMINAL:
        completed, reason, message = (_text(fields.get(name)) for name in ("completionTime", "reason", "message"))
        conditions = [succeeded_condition(to, completed=completed or "", reason=reason, message=message)]
    fields = fields | {"conditions": conditions}
    return [{"op": "add", "path": f"/status/{name}", "value": value} for name, value in fields.items()]


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
