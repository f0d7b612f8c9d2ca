"""Guards of runs that tasks start."""

from typing import Any

from torpor_crds.models.taskrun import TriggerCall
from torpor_operator.taskrun import child_run, deferral
from torpor_operator.taskrun.step import NOTHING, Step, TaskRunView, combine
from torpor_triggerer.model.packed_wait import PackedWait
from torpor_wire import canonical, names

from tests.simulation.mutants.mutant import Mutant, put
from tests.simulation.scenarios.random_child_runs import FIRST_SEED


def _deferral_first() -> None:
    begin = child_run.begin

    def at_once(view: TaskRunView, run: Any) -> Step:
        name = child_run.child_name(view.taskrun)
        kwargs = canonical.plain({"state": "succeeded", "whole": True, "name": name})
        return combine(begin(view, run), deferral.begin(view, TriggerCall(class_name="workflow", kwargs=kwargs)))

    put(child_run, "begin", at_once)


def _random_name() -> None:
    count = iter(range(1_000_000))
    put(names, "child_run", lambda name, uid, attempt: f"{name[:40]}-{attempt}-{next(count)}")


def _same_name() -> None:
    put(names, "child_run", lambda name, uid, attempt: f"{name[:44]}-again")


def _deleted_run() -> None:
    put(child_run, "check_exists", lambda _: NOTHING)


def _depth() -> None:
    put(PackedWait, "run_depth", property(lambda _: 0))


MUTANTS = tuple(
    Mutant(name=name, without=without, switch=switch, first_seed=FIRST_SEED)
    for name, without, switch in (
        ("run before its wait", "a task waits for its run and starts it at the same time", _deferral_first),
        ("name of a run", "each creation of a run has another name", _random_name),
        ("run of an attempt", "all attempts of a task have the same run", _same_name),
        ("deleted run", "a task waits on for a run that was deleted", _deleted_run),
        ("slots of nested runs", "a wait may queue behind that for a run that contains it", _depth),
    )
)
