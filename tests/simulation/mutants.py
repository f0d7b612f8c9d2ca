"""Guards, each with a switch that takes it out; `hunt` looks for the seeds that notice.

A guard that no seed needs is needless, or the simulation is too weak to show what it is for. The switches replace
named functions in an interpreter of their own; nothing in the code under test knows of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

from torpor.runtime import claim as worker_claim
from torpor.runtime import main, settle, taskrun
from torpor.runtime import report as worker_report
from torpor_api import lease, store
from torpor_api.store import Store
from torpor_operator import __main__ as operator_main
from torpor_operator import containers, launch, lifecycle, orphans, tasks, view
from torpor_operator.answers import Answerer
from torpor_operator.pods import Pod
from torpor_operator.snapshot import Presence
from torpor_triggerer import outcome, runner
from torpor_wire import edge


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One guard out. `without` says what the code then does."""

    name: str
    without: str
    switch: Callable[[], None]
    unseen: str = ""  # why no seed is expected to notice


def _put(owner: object, name: str, value: object) -> None:
    """In place of what is there; types are the tests' business, not the mutants'."""
    setattr(owner, name, value)


def _untested(build: Callable[..., edge.Patch]) -> Callable[..., edge.Patch]:
    def built(*args: Any, **kwargs: Any) -> edge.Patch:
        return [op for op in build(*args, **kwargs) if op["op"] != "test"]

    return built


def _without_test(path: str) -> None:
    tests = edge._tests

    def kept(pin: edge.Pin) -> edge.Patch:
        return [op for op in tests(pin) if op["path"] != path]

    _put(edge, "_tests", kept)


def _claim_test() -> None:
    _put(worker_claim, "edge", SimpleNamespace(Claim=edge.Claim, claim=_untested(edge.claim)))


def _claim_nonce() -> None:
    def looking(launched: Any) -> Callable[[Any], settle.Verdict]:
        def look(body: Any) -> settle.Verdict:
            found = taskrun.standing(body)
            return settle.Verdict.OTHERS if found.claim is None else settle.Verdict.MINE

        return look

    _put(worker_claim, "looking", looking)


def _report_test() -> None:
    _put(main, "report", SimpleNamespace(**vars(worker_report) | {"patch_of": _untested(worker_report.patch_of)}))


def _unclear_answer() -> None:
    def write(exchange: Any, path: str, patch: Any, look: Any, patience: Any) -> settle.Settled:
        said = settle._send(exchange, path, patch, patience)
        return settle.Lost() if isinstance(said, settle.Unsettled) else said

    _put(settle, "write", write)


def _fire_fence() -> None:
    _put(outcome, "edge", SimpleNamespace(**vars(edge) | {"fire": _untested(edge.fire)}))


def _high_water() -> None:
    _put(tasks, "_high_water", lambda _, task, runs: max(runs, default=-1) + 1 if task.expand else len(runs))


def _sync() -> None:
    async def lead(_observer: Any, reconciler: Any, _clock: Any) -> None:
        await reconciler.run()

    _put(operator_main, "_lead", lead)


def _former_pod() -> None:
    _put(view.View, "former_pods", property(lambda _: ()))


def _gate() -> None:
    build = launch.build

    def ungated(*args: Any) -> dict[str, Any]:
        body = build(*args)
        body["spec"].pop("schedulingGates", None)
        return body

    _put(launch, "build", ungated)
    held = Pod.held.fget  # type: ignore[attr-defined]
    _put(Pod, "gated", property(lambda pod: held(pod) and pod.phase == "Pending"))


def _claim_before_gate() -> None:
    _put(containers, "claim", lambda _, pod: containers.release(pod))


def _finalizer() -> None:
    build = launch.build

    def unheld(*args: Any) -> dict[str, Any]:
        body = build(*args)
        body["metadata"]["finalizers"] = []
        return body

    _put(launch, "build", unheld)


def _orphans() -> None:
    _put(orphans.Orphans, "suspect", lambda *_: None)


def _relist_diff() -> None:
    _put(Store, "settle", lambda self, _, version: self.advance(version))


def _older_word() -> None:
    _put(store, "version_of", lambda _: 10**9)
    _put(Store, "advance", lambda *_: None)


def _resurrection() -> None:
    _put(Store, "absorb", Store.upsert)


def _lease() -> None:
    _put(lease, "may_acquire", lambda *_: True)


def _lease_given_up() -> None:
    async def keep(self: Any) -> None:
        while True:
            await self._clock.sleep(1e6)

    _put(lease.Leadership, "_keep", keep)


def _confirm(kind: str) -> None:
    async def gone(*_: Any) -> Presence:
        return Presence.GONE

    _put(Answerer, kind, gone)


def _turn() -> None:
    settled = runner.Runner._settle

    def stale(self: Any, key: Any) -> None:
        wait, run = self._find(key), self._runs.get(key)
        if wait is None or run is None:
            settled(self, key)

    _put(runner.Runner, "_settle", stale)


def _silent_end() -> None:
    _put(lifecycle, "_ended_silently", lambda *_: view.NOTHING)


MUTANTS = (
    Mutant(name="claim test", without="a pod claims whatever it finds", switch=_claim_test),
    Mutant(name="claim nonce", without="any claim is taken for one's own", switch=_claim_nonce),
    Mutant(name="report test", without="a pod reports whatever has happened since", switch=_report_test),
    Mutant(name="unclear answer", without="no answer is taken for a lost race", switch=_unclear_answer),
    Mutant(name="state test", without="no write tests the state", switch=partial(_without_test, "/status/state")),
    Mutant(name="attempt test", without="no write tests the attempt", switch=partial(_without_test, "/status/attempt")),
    Mutant(name="segment test", without="no write tests the segment", switch=partial(_without_test, "/status/segment")),
    Mutant(name="launch test", without="no write tests the launch", switch=partial(_without_test, "/status/launch")),
    Mutant(
        name="uid test",
        without="no write tests the uid",
        switch=partial(_without_test, "/metadata/uid"),
        unseen="no TaskRun's name comes back with another uid, but for one deleted as soon as it was made",
    ),
    Mutant(name="fire fence", without="a trigger fires whatever it finds", switch=_fire_fence),
    Mutant(
        name="turn",
        without="a trigger of an earlier segment runs on for the next",
        switch=_turn,
        unseen="too rare here: it takes a list again after 410 that spans two waits",
    ),
    Mutant(
        name="high-water mark",
        without="what is absent is created",
        switch=_high_water,
        unseen="too rare here: tests/unit/controller/test_finished.py shows it",
    ),
    Mutant(
        name="sync before planning",
        without="a leader plans on stores that are not filled",
        switch=_sync,
        unseen="what is absent is confirmed, what is there already is taken up: it spares requests that are refused",
    ),
    Mutant(name="former pod", without="a segment starts beside the one before it", switch=_former_pod),
    Mutant(name="gate", without="a container may start before it is claimed", switch=_gate),
    Mutant(
        name="claim before gate",
        without="the gate is lifted without a claim",
        switch=_claim_before_gate,
        unseen="a pod that has started keeps its finalizer, so none of its name is made beside it: test_containers.py",
    ),
    Mutant(name="finalizer", without="a container's pod may go before its outcome is read", switch=_finalizer),
    Mutant(name="orphans", without="nobody lets go of a pod without a TaskRun", switch=_orphans),
    Mutant(name="relist diff", without="what vanished unseen stays in the store", switch=_relist_diff),
    Mutant(name="older word", without="an older version undoes a newer one", switch=_older_word),
    Mutant(
        name="resurrection",
        without="an answer brings back what was seen to go",
        switch=_resurrection,
        unseen="too rare here: tests/unit/api/test_reflector.py shows it",
    ),
    Mutant(name="confirm pod", without="a pod that the store lacks is gone", switch=partial(_confirm, "_pod")),
    Mutant(name="confirm TaskRun", without="a TaskRun it lacks is gone", switch=partial(_confirm, "_taskrun")),
    Mutant(
        name="lease",
        without="every replica leads",
        switch=_lease,
        unseen="two leaders cost requests and lose races: a Lease says who should work, never who may write",
    ),
    Mutant(name="lease given up", without="a leader that cannot renew leads on", switch=_lease_given_up),
    Mutant(name="silent end", without="a pod that ended without a word is waited for", switch=_silent_end),
)


def switch(name: str) -> None:
    """Take one guard out of this interpreter."""
    next(one for one in MUTANTS if one.name == name).switch()
