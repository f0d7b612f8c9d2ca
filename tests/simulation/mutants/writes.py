"""Guards of single writes: preconditions, claims and ambiguous responses."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from torpor.runtime import main, status_patch, taskrun, taskrun_writes
from torpor.runtime.http import UnclearError
from torpor_kubernetes.client.api import Api
from torpor_triggerer.model import outcome
from torpor_wire import constants, transitions

from tests.simulation.mutants.mutant import Mutant, put, put_for

Build: TypeAlias = Callable[..., transitions.Patch]
"""Builds the patch of a transition."""


def untested(build: Build) -> Build:
    """Return the builder without any precondition."""
    return _filtered(build, lambda op: op["op"] != "test")


def _filtered(build: Build, keeps: Callable[[dict[str, Any]], bool]) -> Build:
    def built(*args: Any, **kwargs: Any) -> transitions.Patch:
        return [op for op in build(*args, **kwargs) if keeps(op)]

    return built


def _change_transitions(change: Callable[[Build], Build]) -> None:
    """Replace every function that builds the patch of a transition."""
    for name, build in inspect.getmembers(transitions, inspect.isfunction):
        if not name.startswith("_") and next(iter(inspect.signature(build).parameters), None) == "pin":
            put(transitions, name, change(build))


def _without_test(path: str) -> None:
    _change_transitions(partial(_filtered, keeps=lambda op: (op["op"], op["path"]) != ("test", path)))


def _claim_test() -> None:
    put_for(taskrun_writes, transitions, claim=untested(transitions.claim))


def _claim_nonce() -> None:
    def any_claim(_: Any) -> Callable[[Any], status_patch.WriteState]:
        def state_of(body: Any) -> status_patch.WriteState:
            is_claimed = taskrun.parse_state(body).claim is not None
            return status_patch.WriteState.MINE if is_claimed else status_patch.WriteState.OTHERS

        return state_of

    put(taskrun_writes, "claim_state_of", any_claim)


def _report_test() -> None:
    put_for(main, taskrun_writes, patch_of=untested(taskrun_writes.patch_of))


def _missing_response() -> None:
    def write(transport: Any, path: str, patch: Any, _: Any, retry_policy: Any) -> status_patch.WriteResult:
        try:
            response = transport("PATCH", f"{path}/status", list(patch))
        except UnclearError:
            return status_patch.WriteLost()
        result = status_patch.interpret(response, retry_policy.repeats)
        return status_patch.WriteLost() if isinstance(result, status_patch.Indeterminate) else result

    put(status_patch, "write", write)


def _fire_precondition() -> None:
    put_for(outcome, transitions, fire=untested(transitions.fire))


def _uid_of_a_deletion() -> None:
    delete = Api.delete

    async def by_name(self: Api, *args: Any, uid: str | None = None, **kwargs: Any) -> None:
        await delete(self, *args, **kwargs)

    put(Api, "delete", by_name)


def _no_entry() -> None:
    _change_transitions(partial(_filtered, keeps=lambda op: not op["path"].startswith("/status/history")))


def _uncounted_entries() -> None:
    _change_transitions(partial(_filtered, keeps=lambda op: not op["path"].endswith("/count")))


def _no_room_for_a_claim() -> None:
    def folded_when_full(build: Build) -> Build:
        def built(pin: transitions.Pin, *args: Any, **kwargs: Any) -> transitions.Patch:
            is_full = pin.history.entries >= constants.HISTORY_MAX
            unsized = transitions.Pin(pin.uid, pin.created, pin.state, pin.attempt, pin.segment, pin.launch)
            return build(pin if is_full else unsized, *args, **kwargs)

        return built

    _change_transitions(folded_when_full)


MUTANTS = (
    Mutant(name="history entry", without="a transition has no entry in the history", switch=_no_entry),
    Mutant(name="history count", without="folded entries are not counted", switch=_uncounted_entries),
    Mutant(name="history room", without="a history is folded only when it is full", switch=_no_room_for_a_claim),
    Mutant(name="claim precondition", without="a pod's claim has no preconditions", switch=_claim_test),
    Mutant(name="claim nonce", without="a pod accepts any claim as its own", switch=_claim_nonce),
    Mutant(name="report precondition", without="a pod's report has no preconditions", switch=_report_test),
    Mutant(name="ambiguous response", without="a missing response counts as a lost race", switch=_missing_response),
    Mutant(
        name="state precondition", without="no write tests the state", switch=partial(_without_test, "/status/state")
    ),
    Mutant(
        name="attempt precondition",
        without="no write tests the attempt",
        switch=partial(_without_test, "/status/attempt"),
    ),
    Mutant(
        name="segment precondition",
        without="no write tests the segment",
        switch=partial(_without_test, "/status/segment"),
    ),
    Mutant(
        name="launch precondition", without="no write tests the launch", switch=partial(_without_test, "/status/launch")
    ),
    Mutant(name="uid precondition", without="no write tests the uid", switch=partial(_without_test, "/metadata/uid")),
    Mutant(name="uid of a deletion", without="a deletion does not test the uid", switch=_uid_of_a_deletion),
    Mutant(name="fire precondition", without="a trigger's fire has no preconditions", switch=_fire_precondition),
)
