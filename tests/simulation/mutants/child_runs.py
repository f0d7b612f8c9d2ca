"""Guards of runs that tasks start."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torpor_crds.models.run_of import ChildRun
from torpor_crds.models.taskrun import TaskRun, TriggerCall
from torpor_crds.models.workflow import Workflow
from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.model.child_run_actions import ChangeChildRun
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.taskrun import child_run, deferral
from torpor_operator.taskrun.step import NOTHING, Step, TaskRunView, combine
from torpor_operator.workflows.plan import child_runs, planner
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


def _propagation(change: Callable[[ChangeChildRun], ChangeChildRun | None]) -> Callable[[], None]:
    """Replace or leave out each change of a run that comes from the run that contains it."""

    def switch() -> None:
        propagate = child_runs.propagate

        def changed(snapshot: Snapshot) -> tuple[ChangeChildRun, ...]:
            return tuple(each for each in map(change, propagate(snapshot)) if each is not None)

        put(child_runs, "propagate", changed)

    return switch


def _without_end(change: ChangeChildRun) -> ChangeChildRun | None:
    return change if "suspend" in change.fields else None


def _cancel_for_stop(change: ChangeChildRun) -> ChangeChildRun:
    return replace(change, fields={"cancel": True}) if "stop" in change.fields else change


def _without_suspension(change: ChangeChildRun) -> ChangeChildRun | None:
    return None if change.fields.get("suspend") else change


def _without_resumption(change: ChangeChildRun) -> ChangeChildRun | None:
    return None if change.fields.get("suspend") is False else change


def _awaited() -> None:
    put(ClusterCache, "is_awaited", lambda cache, workflow: False)


def _waits_again() -> None:
    put(planner, "DECISIONS", tuple(each for each in planner.DECISIONS if each is not child_runs.wait_again))


def _released() -> None:
    put(child_runs, "before_deletion", lambda snapshot, view: NOTHING)


def _seen_clears() -> None:
    adopt = child_run.adopt

    def forgetful(taskrun: TaskRun, run: ChildRun, child: Workflow) -> Any:
        moved = adopt(taskrun, run, child)
        return replace(moved, parent={**moved.parent, "clears": 0})

    put(child_run, "adopt", forgetful)


def _retained() -> None:
    put(child_runs, "holds_deletion", lambda _: False)


def _owned() -> None:
    put(ChildRun, "is_owned", property(lambda _: True))


MUTANTS = tuple(
    Mutant(name=name, without=without, switch=switch, first_seed=FIRST_SEED)
    for name, without, switch in (
        ("run before its wait", "a task waits for its run and starts it at the same time", _deferral_first),
        ("name of a run", "each creation of a run has another name", _random_name),
        ("run of an attempt", "all attempts of a task have the same run", _same_name),
        ("deleted run", "a task waits on for a run that was deleted", _deleted_run),
        ("slots of nested runs", "a wait may queue behind that for a run that contains it", _depth),
        ("end of an outer run", "runs go on after the run that contains them has ended", _propagation(_without_end)),
        ("stop of an outer run", "a stop cancels the runs in a run", _propagation(_cancel_for_stop)),
        ("suspension of an outer run", "runs go on in a suspended run", _propagation(_without_suspension)),
        ("resumption of an outer run", "runs stay suspended in one that goes on", _propagation(_without_resumption)),
        ("TTL of an awaited run", "the TTL deletes a run whose task waits for it", _awaited),
        ("cleared run", "a task stays failed whose run was cleared", _waits_again),
        ("released run", "a cleared run is deleted with the TaskRun that failed", _released),
        ("seen clears", "a task waits again for each clear of its run that it has seen", _seen_clears),
        ("retained run", "a deleted run leaves retained runs that go on", _retained),
        ("run without an owner", "a run that nothing waits for is deleted with its TaskRun", _owned),
    )
)
