"""Guards of single writes: preconditions, claims and ambiguous responses."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from torpor.runtime import main, status_patch, taskrun, taskrun_writes
from torpor_kubernetes.client.api import Api
from torpor_triggerer.model import outcome
from torpor_wire import constants, transitions

from tests.simulation.mutants.mutant import Mutant, put


def _untested(build: Callable[..., transitions.Patch]) -> Callable[..., transitions.Patch]:
    def built(*args: Any, **kwargs: Any) -> transitions.Patch:
        return [op for op in build(*args, **kwargs) if op["op"] != "test"]

    return built


def _without_test(path: str) -> None:
    tests = transitions._tests

    def kept(pin: transitions.Pin) -> transitions.Patch:
        return [op for op in tests(pin) if op["path"] != path]

    put(transitions, "_tests", kept)


def _claim_test() -> None:
    put(taskrun_writes, "transitions", SimpleNamespace(**vars(transitions) | {"claim": _untested(transitions.claim)}))


def _claim_nonce() -> None:
    def looking(launched: Any) -> Callable[[Any], status_patch.WriteState]:
        def state_of(body: Any) -> status_patch.WriteState:
            found = taskrun.parse_state(body)
            return status_patch.WriteState.OTHERS if found.claim is None else status_patch.WriteState.MINE

        return state_of

    put(taskrun_writes, "claim_state_of", looking)


def _report_test() -> None:
    put(
        main,
        "taskrun_writes",
        SimpleNamespace(**vars(taskrun_writes) | {"patch_of": _untested(taskrun_writes.patch_of)}),
    )


def _unclear_answer() -> None:
    def write(transport: Any, path: str, patch: Any, state_of: Any, retry_policy: Any) -> status_patch.WriteResult:
        said = status_patch._send(transport, path, patch, retry_policy)
        return status_patch.WriteLost() if isinstance(said, status_patch.Indeterminate) else said

    put(status_patch, "write", write)


def _fire_precondition() -> None:
    put(outcome, "transitions", SimpleNamespace(**vars(transitions) | {"fire": _untested(transitions.fire)}))


def _uid_of_a_deletion() -> None:
    delete = Api.delete

    async def by_name(self: Api, *args: Any, uid: str | None = None, **kwargs: Any) -> None:
        await delete(self, *args, **kwargs)

    put(Api, "delete", by_name)


def _no_entry() -> None:
    put(transitions, "_append", lambda _size, _entry: [])


def _uncounted_entries() -> None:
    append = transitions._append

    def appended(size: transitions.HistorySize, entry: Any) -> transitions.Patch:
        return [op for op in append(size, entry) if not str(op["path"]).endswith("/count")]

    put(transitions, "_append", appended)


def _no_room_for_a_claim() -> None:
    append = transitions._append

    def appended(size: transitions.HistorySize, entry: Any) -> transitions.Patch:
        full = size.entries >= constants.HISTORY_MAX
        return append(size if full else transitions.HistorySize(), entry)

    put(transitions, "_append", appended)


MUTANTS = (
    Mutant(name="history entry", without="a transition has no entry in the history", switch=_no_entry),
    Mutant(name="history count", without="folded entries are not counted", switch=_uncounted_entries),
    Mutant(name="history room", without="a history is folded only when it is full", switch=_no_room_for_a_claim),
    Mutant(name="claim precondition", without="a pod's claim has no preconditions", switch=_claim_test),
    Mutant(name="claim nonce", without="a pod accepts any claim as its own", switch=_claim_nonce),
    Mutant(name="report precondition", without="a pod's report has no preconditions", switch=_report_test),
    Mutant(name="ambiguous response", without="a missing response counts as a lost race", switch=_unclear_answer),
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
