"""Values for the tests of edges, and every edge as a function of what its writer saw."""

from collections.abc import Callable

from torpor_wire import retry, transitions, trigger
from torpor_wire.reason import Reason
from torpor_wire.state import State
from torpor_wire.transitions import Patch, Pin

NOW = 1_700_000_000.0
STAMP = "2023-11-14T22:13:20.000Z"
CREATED = "2023-11-14T22:00:00Z"
POD = {"name": "run-load-0a1b2-a2-s3", "uid": "pod-uid", "claim": "nonce"}
CLAIM = transitions.Claim("run-load-0a1b2-a2-s3", "pod-uid", "nonce")
WAIT = trigger.build("http", {"url": "a"}, namespace="ns", pool="default", now=NOW)
RESUME = {"method": "execute_complete", "kwargs": "{}"}


def pin(state: State, *, launch: int | None = None) -> Pin:
    return Pin(uid="uid", created=CREATED, state=state, attempt=2, segment=3, launch=launch)


EDGE: dict[str, tuple[Callable[[Pin], Patch], State]] = {
    "claim": (lambda seen: transitions.claim(seen, CLAIM, started=None, now=NOW), State.RUNNING),
    "defer": (lambda seen: transitions.defer(seen, WAIT, resume=None, deadline=None, now=NOW), State.DEFERRED),
    "fire": (lambda seen: transitions.fire(seen, "{}", deferred=1.0, now=NOW), State.SCHEDULED),
    "succeed": (lambda seen: transitions.succeed(seen, None, now=NOW), State.SUCCEEDED),
    "fail": (
        lambda seen: transitions.fail(seen, retry.Policy(), reason=Reason.ERROR, message="", now=NOW),
        State.FAILED,
    ),
    "fail for now": (
        lambda seen: transitions.fail(seen, retry.Policy(limit=9), reason=Reason.ERROR, message="", now=NOW),
        State.UP_FOR_RETRY,
    ),
    "end retries": (lambda seen: transitions.end_retries(seen, reason="Error", message="", now=NOW), State.FAILED),
    "skip": (lambda seen: transitions.skip(seen, message="", now=NOW), State.SKIPPED),
    "retry": (lambda seen: transitions.retry_now(seen, now=NOW), State.SCHEDULED),
    "relaunch": (lambda seen: transitions.relaunch(seen, now=NOW), State.SCHEDULED),
    "mark": (lambda seen: transitions.mark(seen, State.SKIPPED, result=None, message="", now=NOW), State.SKIPPED),
    "mark well": (
        lambda seen: transitions.mark(seen, State.SUCCEEDED, result="1", message="", now=NOW),
        State.SUCCEEDED,
    ),
    "cancel": (lambda seen: transitions.cancel(seen, message="", now=NOW), State.CANCELLED),
}
