"""plan(Snapshot) -> Plan: what a Workflow asks to be done now, and when to look again.

Level-based: everything is computed anew from the spec, the TaskRuns and their pods; no diffs, no old values. Each
concern is a module of its own (`graph`, `gate`, `instances`, `lifecycle`, `status`); here they are only put in order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torpor_api.models.workflow import Clearing, TaskStatus, Workflow
from torpor_wire import constants, times
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State

from torpor_operator.graph import dag
from torpor_operator.model.actions import Action, Plan, RemoveAnnotation, Resume, SetFinalizers
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.plan import (
    clear,
    dispatch,
    events,
    namespace_readiness,
    pod_retention,
    slot_messages,
    status,
    task_order,
    ttl,
)
from torpor_operator.plan.status import Verdict
from torpor_operator.state import instance_indexes, task_state
from torpor_operator.state.task_state import Outcome
from torpor_operator.taskrun import termination
from torpor_operator.taskrun.step import TaskRunView, soonest


def plan(snapshot: Snapshot) -> Plan:
    """The plan of one Workflow; in a namespace that is not set up it creates nothing."""
    return namespace_readiness.hold(snapshot, _plan(snapshot)) if snapshot.not_ready else _plan(snapshot)


def _plan(snapshot: Snapshot) -> Plan:
    workflow = snapshot.workflow
    if (wrong := instance_indexes.problem(workflow) or clear.problem(workflow)) is not None:
        return _invalid(snapshot, dag.Problem(Reason.STATUS_INVALID, wrong))
    if workflow.metadata.deletion_timestamp is None and (wish := clear.asked(workflow)) is not None:
        taken = _cleared(snapshot, wish)
        if taken is not None:
            return taken
    if workflow.status.completion_time is not None:
        return _finished(snapshot)
    if constants.FINALIZER not in workflow.metadata.finalizers and workflow.metadata.deletion_timestamp is None:
        return Plan(actions=(SetFinalizers(finalizers=(*workflow.metadata.finalizers, constants.FINALIZER)),))
    ordered = dag.build(workflow.spec)
    if isinstance(ordered, dag.Problem):
        return _unplannable(snapshot, ordered)
    ending = _ending(snapshot, ordered)
    return _running(snapshot, ordered) if ending is None else _cancelling(snapshot, ordered, ending)


def _cleared(snapshot: Snapshot, wish: str) -> Plan | None:
    """Take up a wish to run instances again, or refuse it; None while another such wish is being fulfilled."""
    workflow = snapshot.workflow
    removed = (RemoveAnnotation(name=constants.CLEAR, value=wish),)
    mark = workflow.status.clearing
    if mark is not None:
        return Plan(actions=removed) if mark.asked == wish else None
    ordered = dag.build(workflow.spec)
    if isinstance(ordered, dag.Problem):
        return _refused(workflow, removed, ordered.message)
    found = clear.chosen(snapshot, ordered, wish)
    if isinstance(found, clear.Refusal):
        return _refused(workflow, removed, found.message)
    if workflow.spec.cancel or workflow.spec.stop:
        return Plan(actions=(Resume(),))  # it has ended; the wish stands, and is taken up by the next plan
    former = {one.name: one for one in workflow.status.tasks}
    # Also of tasks that the status does not tell of yet: what was created in this second counts for ever.
    entries = [
        clear.entry(
            task, former.get(task.name) or clear.unknown(task), found, task_order.created(snapshot, ordered, task)
        )
        for task in workflow.spec.tasks
    ]
    return Plan(
        status=status.reopened(workflow, Clearing(asked=wish, tasks=found), entries, snapshot.now),
        events=(events.cleared(workflow, Reason.CLEARED, f"runs again: {clear.told(found)}"),),
    )


def _refused(workflow: Workflow, removed: tuple[RemoveAnnotation, ...], why: str) -> Plan:
    return Plan(actions=removed, events=(events.cleared(workflow, Reason.CLEAR_REFUSED, why),))


def _old(snapshot: Snapshot) -> list[TaskRunView]:
    """What makes way for TaskRuns that are made anew."""
    return [dispatch.view_of(snapshot, name) for name in clear.former(snapshot)]


def _running(snapshot: Snapshot, ordered: dag.Graph) -> Plan:
    workflow = snapshot.workflow
    turns = task_order.turns(snapshot, ordered)
    outcomes = [turn.outcome for turn in turns]
    verdict = status.verdict(workflow, outcomes, None)
    hooks = task_order.hooks(snapshot, ordered, outcomes, verdict)
    made = pod_retention.of(snapshot, dispatch.build_plan(snapshot, [*turns, *hooks]))
    again_at = made.again_at if verdict.final else soonest([made.again_at, _timeout_at(snapshot)])
    return _stated(
        snapshot,
        outcomes,
        [turn.outcome for turn in hooks],
        verdict,
        dispatch.prepend_steps(
            replace(made, again_at=again_at), [termination.make_way(view) for view in _old(snapshot)]
        ),
    )


def _cancelling(snapshot: Snapshot, ordered: dag.Graph, why: "_Ending") -> Plan:
    """The run ends before its tasks have. To cancel or delete it ends its hooks too; a stop or timeout calls them."""
    ending = why.verdict
    ended = ordered.tasks if why.hooks else ordered.order
    outcomes = [task_order.as_it_is(snapshot, ordered, task) for task in ended]
    runs = [run.metadata.name for outcome in outcomes for run in outcome.runs.values()]
    steps = [termination.make_way(view) for view in _old(snapshot)]
    steps += [termination.cancel(dispatch.view_of(snapshot, name), ending.message) for name in runs]
    verdict = status.verdict(snapshot.workflow, outcomes, ending)
    hooks = task_order.hooks(snapshot, ordered, outcomes, verdict) if why.hooks else []
    made = dispatch.prepend_steps(dispatch.build_plan(snapshot, hooks), steps)
    return _stated(snapshot, outcomes, [turn.outcome for turn in hooks], verdict, made)


def _finished(snapshot: Snapshot) -> Plan:
    """Over: the last pods are seen off, the finalizer is lifted, and the time to live runs."""
    workflow = snapshot.workflow
    # What came to be after the end (a creation that was under way, or not seen when the run was cancelled) ends too.
    steps = [termination.cancel(dispatch.view_of(snapshot, name), "the run has ended") for name in snapshot.taskruns]
    actions: list[Action] = [action for step in steps for action in step.actions]
    if constants.FINALIZER in workflow.metadata.finalizers:
        kept = tuple(name for name in workflow.metadata.finalizers if name != constants.FINALIZER)
        actions.append(SetFinalizers(finalizers=kept))
    made = pod_retention.of(snapshot, Plan(actions=tuple(actions), again_at=soonest(step.again_at for step in steps)))
    return ttl.of(snapshot, made) if workflow.metadata.deletion_timestamp is None else made


def _invalid(snapshot: Snapshot, problem: dag.Problem, known: tuple[TaskStatus, ...] = ()) -> Plan:
    verdict = Verdict(state="Failed", succeeded="False", reason=problem.reason, message=problem.message)
    stands = status.build(snapshot.workflow, [], verdict, snapshot.now)
    return Plan(
        status=stands.model_copy(update={"tasks": known}),
        events=events.verdict(snapshot.workflow, verdict),
    )


def _unplannable(snapshot: Snapshot, problem: dag.Problem) -> Plan:
    """The graph makes no sense. Where a change of the spec made it so while it ran, what runs is ended first."""
    live = [name for name, run in snapshot.taskruns.items() if run.status.state not in TERMINAL]
    if not live:
        return _invalid(snapshot, problem, tuple(map(task_state.cancelled, snapshot.workflow.status.tasks)))
    return dispatch.prepend_steps(
        Plan(), [termination.cancel(dispatch.view_of(snapshot, name), problem.message) for name in live]
    )


def _stated(
    snapshot: Snapshot, outcomes: Sequence[Outcome], hooks: Sequence[Outcome], result: Verdict, made: Plan
) -> Plan:
    workflow, every = snapshot.workflow, (*outcomes, *hooks)
    waiting = slot_messages.sentences(workflow.spec, made.waiting)
    result = status.uncreated(status.waiting(result, waiting), snapshot.uncreated)
    verdict = status.finishing(result, hooks)
    runs = [run for outcome in every for run in outcome.runs.values()]
    told = (
        *events.troubles(workflow, outcomes, verdict),
        *events.failures(runs),
        *events.hooks(workflow, hooks),
        *events.verdict(workflow, verdict),
    )
    kept = next(filter(None, map(termination.kept_by, _old(snapshot))), "")
    stands = status.build(
        workflow, every, verdict, snapshot.now, cleared=clear.done(snapshot), kept=kept, waiting=waiting
    )
    return replace(made, status=stands, events=(*made.events, *told))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    """Why a run is to end before its tasks have, and whether its hooks follow."""

    verdict: Verdict
    hooks: bool

    @classmethod
    def of(cls, reason: Reason, message: str, *, hooks: bool) -> "_Ending":
        return cls(verdict=Verdict(state="Failed", succeeded="False", reason=reason, message=message), hooks=hooks)


def _ending(snapshot: Snapshot, ordered: dag.Graph) -> _Ending | None:
    """Why the run is to end before its tasks have: deleted, cancelled, stopped, or out of time."""
    workflow = snapshot.workflow
    if workflow.metadata.deletion_timestamp is not None:
        return _Ending.of(Reason.CANCELLED, "the Workflow was deleted", hooks=False)
    if workflow.spec.cancel:
        return _Ending.of(Reason.CANCELLED, "spec.cancel was set", hooks=False)
    if workflow.spec.stop and not _ended_before(snapshot, ordered, None):
        return _Ending.of(Reason.CANCELLED, "spec.stop was set", hooks=True)
    due = _timeout_at(snapshot)
    if due is not None and snapshot.now >= due and not _ended_before(snapshot, ordered, due):
        message = f"the run took longer than its timeout of {workflow.spec.timeout}"
        return _Ending.of(Reason.TIMEOUT, message, hooks=True)
    return None


def _ended_before(snapshot: Snapshot, ordered: dag.Graph, due: float | None) -> bool:
    """Whether all tasks had ended by then, so that only hooks run; what the ending itself cancelled does not count."""
    turns = task_order.turns(snapshot, ordered)
    runs = [run for turn in turns for run in turn.runs]
    if not all(turn.outcome.ended for turn in turns) or any(run.status.state is State.CANCELLED for run in runs):
        return False
    return due is None or all(times.epoch(run.status.completion_time or times.rfc3339(due)) < due for run in runs)


def _timeout_at(snapshot: Snapshot) -> float | None:
    known = snapshot.workflow.status
    started, timeout = known.reopened_time or known.start_time, snapshot.workflow.spec.timeout
    return times.epoch(started) + times.seconds(timeout) if started and timeout else None
