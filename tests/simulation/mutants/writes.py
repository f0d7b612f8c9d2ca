"""Guards of single writes: what a patch tests, whose claim it is, and what is made of an answer that never came."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from torpor.runtime import claim as worker_claim
from torpor.runtime import main, settle, taskrun
from torpor.runtime import report as worker_report
from torpor_api.api import Api
from torpor_triggerer import outcome
from torpor_wire import edge

from tests.simulation.mutants.mutant import Mutant, put


def _untested(build: Callable[..., edge.Patch]) -> Callable[..., edge.Patch]:
    def built(*args: Any, **kwargs: Any) -> edge.Patch:
        return [op for op in build(*args, **kwargs) if op["op"] != "test"]

    return built


def _without_test(path: str) -> None:
    tests = edge._tests

    def kept(pin: edge.Pin) -> edge.Patch:
        return [op for op in tests(pin) if op["path"] != path]

    put(edge, "_tests", kept)


def _claim_test() -> None:
    put(worker_claim, "edge", SimpleNamespace(Claim=edge.Claim, claim=_untested(edge.claim)))


def _claim_nonce() -> None:
    def looking(launched: Any) -> Callable[[Any], settle.Verdict]:
        def look(body: Any) -> settle.Verdict:
            found = taskrun.standing(body)
            return settle.Verdict.OTHERS if found.claim is None else settle.Verdict.MINE

        return look

    put(worker_claim, "looking", looking)


def _report_test() -> None:
    put(main, "report", SimpleNamespace(**vars(worker_report) | {"patch_of": _untested(worker_report.patch_of)}))


def _unclear_answer() -> None:
    def write(exchange: Any, path: str, patch: Any, look: Any, patience: Any) -> settle.Settled:
        said = settle._send(exchange, path, patch, patience)
        return settle.Lost() if isinstance(said, settle.Unsettled) else said

    put(settle, "write", write)


def _fire_fence() -> None:
    put(outcome, "edge", SimpleNamespace(**vars(edge) | {"fire": _untested(edge.fire)}))


def _uid_of_a_deletion() -> None:
    delete = Api.delete

    async def by_name(self: Api, *args: Any, uid: str | None = None, **kwargs: Any) -> None:
        await delete(self, *args, **kwargs)

    put(Api, "delete", by_name)


MUTANTS = (
    Mutant(name="claim test", without="a pod claims whatever it finds", switch=_claim_test),
    Mutant(name="claim nonce", without="any claim is taken for one's own", switch=_claim_nonce),
    Mutant(name="report test", without="a pod reports whatever has happened since", switch=_report_test),
    Mutant(name="unclear answer", without="no answer is taken for a lost race", switch=_unclear_answer),
    Mutant(name="state test", without="no write tests the state", switch=partial(_without_test, "/status/state")),
    Mutant(name="attempt test", without="no write tests the attempt", switch=partial(_without_test, "/status/attempt")),
    Mutant(name="segment test", without="no write tests the segment", switch=partial(_without_test, "/status/segment")),
    Mutant(name="launch test", without="no write tests the launch", switch=partial(_without_test, "/status/launch")),
    Mutant(name="uid test", without="no write tests the uid", switch=partial(_without_test, "/metadata/uid")),
    Mutant(name="uid of a deletion", without="what is deleted is whatever has its name", switch=_uid_of_a_deletion),
    Mutant(name="fire fence", without="a trigger fires whatever it finds", switch=_fire_fence),
)
