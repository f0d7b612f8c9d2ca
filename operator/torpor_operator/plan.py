"""plan(Snapshot) -> Plan: what a Workflow asks to be done now, and when to look again.

Level-based: everything is computed anew from the spec, the TaskRuns and their pods; no diffs, no old values. Each
concern is a module of its own (`graph`, `gate`, `instances`, `lifecycle`, `status`); here they are only put in order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from torpor_api.taskrun import TaskRun
from torpor_api.workflow import Clearing, WorkflowStatus
from torpor_wire import keys, times
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_operator import announce, clear, going, graph, launch, lifecycle, status, tasks
from torpor_operator.actions import (
    Action,
    CreatePod,
    CreateTaskRun,
    DeleteWorkflow,
    Need,
    PostEvent,
    RemoveAnnotation,
    SetFinalizers,
)
from torpor_operator.outcome import Outcome
from torpor_operator.room import Room
from torpor_operator.snapshot import Snapshot
from torpor_operator.status import Verdict
from torpor_operator.surroundings import Surroundings
from torpor_operator.view import Step, View, soonest


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Actions may be applied in any order; they are begun in the one given.

    While `needs` is not empty, an answered plan may ask for more.
    """

    actions: tuple[Action, ...] = ()
    needs: tuple[Need, ...] = ()
    status: WorkflowStatus | None = None
    events: tuple[PostEvent, ...] = ()
    again_at: float | None = None


def plan(snapshot: Snapshot) -> Plan:
    """The plan of one Workflow."""
    workflow = snapshot.workflow
    if workflow.metadata.deletion_timestamp is None and (wish := clear.asked(workflow)) is not None:
        taken = _cleared(snapshot, wish)
        if taken is not None:
            return taken
    if workflow.status.completion_time is not None:
        return _finished(snapshot)
    if keys.FINALIZER not in workflow.metadata.finalizers and workflow.metadata.deletion_timestamp is None:
        return Plan(actions=(SetFinalizers(finalizers=(*workflow.metadata.finalizers, keys.FINALIZER)),))
    ordered = graph.build(workflow.spec)
    if isinstance(ordered, graph.Problem):
        return _invalid(snapshot, ordered)
    ending = _ending(snapshot, ordered)
    return _running(snapshot, ordered) if ending is None else _cancelling(snapshot, ordered, ending)


def _cleared(snapshot: Snapshot, wish: str) -> Plan | None:
    """Take up a wish to run instances again, or refuse it; None while another such wish is being fulfilled."""
    workflow = snapshot.workflow
    removed = (RemoveAnnotation(name=keys.CLEAR, value=wish),)
    mark = workflow.status.clearing
    if mark is not None:
        return Plan(actions=removed) if mark.asked == wish else None
    ordered = graph.build(workflow.spec)
    found = (
        clear.chosen(snapshot, ordered, wish) if isinstance(ordered, graph.Graph) else clear.Refusal(ordered.message)
    )
    if isinstance(found, clear.Refusal):
        return Plan(actions=removed, events=(announce.cleared(workflow, Reason.CLEAR_REFUSED, found.message),))
    former = {one.name: one for one in workflow.status.tasks}
    # Also of tasks that the status does not tell of yet: what was created in this second counts for ever.
    entries = [
        clear.entry(former.get(task.name) or clear.unknown(task), found, tasks.created(snapshot, task))
        for task in workflow.spec.tasks
    ]
    return Plan(
        status=status.reopened(workflow, Clearing(asked=wish, tasks=found), entries, snapshot.now),
        events=(announce.cleared(workflow, Reason.CLEARED, f"runs again: {clear.told(found)}"),),
    )


def _old(snapshot: Snapshot) -> list[View]:
    """What makes way for TaskRuns that are made anew."""
    return [_view(snapshot, name) for name in clear.former(snapshot)]


def _running(snapshot: Snapshot, ordered: graph.Graph) -> Plan:
    workflow = snapshot.workflow
    turns = tasks.turns(snapshot, ordered)
    outcomes = [turn.outcome for turn in turns]
    verdict = status.verdict(workflow, outcomes, None)
    hooks = tasks.hooks(snapshot, ordered, outcomes, verdict)
    made = _worked(snapshot, [*turns, *hooks])
    again_at = made.again_at if verdict.final else soonest([made.again_at, _timeout_at(snapshot)])
    return _stated(
        snapshot,
        outcomes,
        [turn.outcome for turn in hooks],
        verdict,
        _also(replace(made, again_at=again_at), [going.make_way(view) for view in _old(snapshot)]),
    )


def _worked(snapshot: Snapshot, turns: Sequence[tasks.Turn]) -> Plan:
    """What these tasks ask for: steps of the TaskRuns they have, pods, and new TaskRuns."""
    workflow = snapshot.workflow
    steps = [(run, lifecycle.next_step(_view(snapshot, run.metadata.name))) for turn in turns for run in turn.runs]
    waiting = [run for run, step in steps if step.wants_pod]
    room = Room.of(workflow.spec, [run for run, _ in steps if _holds_slot(snapshot, run.metadata.name)])
    waiting.sort(key=lambda run: (run.status.segment == 0, run.metadata.creation_timestamp, run.spec.map_index))
    launched = [run for run in waiting if room.take(run.spec.task)]
    starts = [] if workflow.spec.suspend else _starts(turns, room)
    return Plan(
        actions=(*_actions(step for _, step in steps), *_launches(snapshot, launched), *starts),
        needs=_needs(turns, [step for _, step in steps]),
        events=(
            *announce.task_problems(workflow, [turn.outcome for turn in turns]),
            *_events(step for _, step in steps),
        ),
        again_at=soonest(step.again_at for _, step in steps),
    )


def _launches(snapshot: Snapshot, runs: Sequence[TaskRun]) -> list[CreatePod]:
    chosen = {task.name: task.pod for task in snapshot.workflow.spec.tasks}
    return [
        CreatePod(taskrun=run, body=launch.build(run, _around(snapshot, run), chosen.get(run.spec.task)))
        for run in runs
    ]


def _around(snapshot: Snapshot, run: TaskRun) -> Surroundings:
    """A sensor that would wait where nobody serves the pool pokes by itself instead (AIP-17's fallback)."""
    pool, asked = snapshot.pools(run.spec.trigger_pool), snapshot.workflow.spec.deferrable
    return Surroundings(
        service_account=snapshot.settings.task_service_account,
        deferrable=snapshot.settings.deferrable if asked is None else asked,
        served=pool.served,
        seal_key=pool.seal_key,
    )


def _starts(turns: Sequence[tasks.Turn], room: Room) -> list[CreateTaskRun]:
    """New TaskRuns in the order of the graph: as many as there are slots left, and all waits that take none."""
    return [
        CreateTaskRun(body=body)
        for turn in turns
        for body in turn.starts
        if not turn.needs_slot or room.take(turn.outcome.task)
    ]


def _cancelling(snapshot: Snapshot, ordered: graph.Graph, ending: Verdict) -> Plan:
    """The run ends before its tasks have. Who cancels or deletes it ends its hooks too; a timeout calls them."""
    wanted = ending.reason != Reason.CANCELLED
    ended = ordered.tasks if wanted else ordered.order
    outcomes = [tasks.as_it_is(snapshot, task) for task in ended]
    runs = [run.metadata.name for outcome in outcomes for run in outcome.runs.values()]
    steps = [going.make_way(view) for view in _old(snapshot)]
    steps += [going.cancel(_view(snapshot, name), ending.message) for name in runs]
    verdict = status.verdict(snapshot.workflow, outcomes, ending)
    hooks = tasks.hooks(snapshot, ordered, outcomes, verdict) if wanted else []
    made = _also(_worked(snapshot, hooks), steps)
    return _stated(snapshot, outcomes, [turn.outcome for turn in hooks], verdict, made)


def _also(made: Plan, steps: Sequence[Step]) -> Plan:
    """A plan with these steps before its own."""
    return replace(
        made,
        actions=(*_actions(steps), *made.actions),
        needs=(*_needs((), steps), *made.needs),
        events=(*_events(steps), *made.events),
        again_at=soonest([made.again_at, *(step.again_at for step in steps)]),
    )


def _finished(snapshot: Snapshot) -> Plan:
    """Over: the last pods are seen off, the finalizer is lifted, and the time to live runs."""
    workflow = snapshot.workflow
    # What came to be after the end (a creation that was under way, or not seen when the run was cancelled) ends too.
    steps = [going.cancel(_view(snapshot, name), "the run has ended") for name in snapshot.taskruns]
    actions: list[Action] = [*_actions(steps)]
    if keys.FINALIZER in workflow.metadata.finalizers:
        kept = tuple(name for name in workflow.metadata.finalizers if name != keys.FINALIZER)
        actions.append(SetFinalizers(finalizers=kept))
    expires = _expires_at(snapshot)
    if expires is not None and snapshot.now >= expires:
        if workflow.metadata.deletion_timestamp is None:
            actions.append(DeleteWorkflow())
        expires = None
    return Plan(actions=tuple(actions), again_at=soonest([*(step.again_at for step in steps), expires]))


def _invalid(snapshot: Snapshot, problem: graph.Problem) -> Plan:
    verdict = Verdict(state="Failed", succeeded="False", reason=problem.reason, message=problem.message)
    return Plan(
        status=status.build(snapshot.workflow, [], verdict, snapshot.now),
        events=announce.verdict(snapshot.workflow, verdict),
    )


def _stated(
    snapshot: Snapshot, outcomes: Sequence[Outcome], hooks: Sequence[Outcome], result: Verdict, made: Plan
) -> Plan:
    workflow, every = snapshot.workflow, (*outcomes, *hooks)
    verdict = status.finishing(result, hooks)
    runs = [run for outcome in every for run in outcome.runs.values()]
    told = (*announce.failures(runs), *announce.hooks(workflow, hooks), *announce.verdict(workflow, verdict))
    kept = next(filter(None, map(going.kept_by, _old(snapshot))), "")
    stands = status.build(workflow, every, verdict, snapshot.now, cleared=clear.done(snapshot), kept=kept)
    return replace(made, status=stands, events=(*made.events, *told))


def _ending(snapshot: Snapshot, ordered: graph.Graph) -> Verdict | None:
    """Why the run is to end before its tasks have: deleted, cancelled, or out of time."""
    workflow = snapshot.workflow
    if workflow.metadata.deletion_timestamp is not None:
        return Verdict(state="Failed", succeeded="False", reason=Reason.CANCELLED, message="the Workflow was deleted")
    if workflow.spec.cancel:
        return Verdict(state="Failed", succeeded="False", reason=Reason.CANCELLED, message="spec.cancel was set")
    due = _timeout_at(snapshot)
    if due is not None and snapshot.now >= due and not _ended_before(snapshot, ordered, due):
        message = f"the run took longer than its timeout of {workflow.spec.timeout}"
        return Verdict(state="Failed", succeeded="False", reason=Reason.TIMEOUT, message=message)
    return None


def _ended_before(snapshot: Snapshot, ordered: graph.Graph, due: float) -> bool:
    """Whether all tasks had ended by then, so that only hooks run; what the timeout itself ended does not count."""
    turns = tasks.turns(snapshot, ordered)
    return all(turn.outcome.ended for turn in turns) and not any(
        run.status.state is State.CANCELLED or times.epoch(run.status.completion_time or times.rfc3339(due)) >= due
        for turn in turns
        for run in turn.runs
    )


def _timeout_at(snapshot: Snapshot) -> float | None:
    started, timeout = snapshot.workflow.status.start_time, snapshot.workflow.spec.timeout
    return times.epoch(started) + times.seconds(timeout) if started and timeout else None


def _expires_at(snapshot: Snapshot) -> float | None:
    completed, ttl = snapshot.workflow.status.completion_time, snapshot.workflow.spec.ttl_after_finished
    return times.epoch(completed) + times.seconds(ttl) if completed and ttl else None


def _view(snapshot: Snapshot, name: str) -> View:
    taskrun = snapshot.taskruns[name]
    return View(
        taskrun=taskrun,
        pods=snapshot.pods.get(taskrun.metadata.uid, ()),
        unclear=snapshot.unclear.get(taskrun.metadata.uid),
        pool=snapshot.pools(taskrun.spec.trigger_pool),
        known=snapshot.known,
        settings=snapshot.settings,
        now=snapshot.now,
    )


def _holds_slot(snapshot: Snapshot, name: str) -> bool:
    """Whether the TaskRun takes one of the Workflow's slots; a deferred one only where the spec says so."""
    view = _view(snapshot, name)
    match view.taskrun.status.state:
        case State.RUNNING:
            return True
        case State.DEFERRED:
            return snapshot.workflow.spec.count_deferred
        case State.SCHEDULED if view.waits_first:
            return snapshot.workflow.spec.count_deferred
        case State.SCHEDULED:
            return view.current_pod is not None
        case _:
            return False


def _actions(steps: Iterable[Step]) -> tuple[Action, ...]:
    return tuple(action for step in steps for action in step.actions)


def _events(steps: Iterable[Step]) -> tuple[PostEvent, ...]:
    return tuple(event for step in steps for event in step.events)


def _needs(turns: Sequence[tasks.Turn], steps: Sequence[Step]) -> tuple[Need, ...]:
    wanted = [need for turn in turns for need in turn.needs] + [need for step in steps for need in step.needs]
    return tuple(dict.fromkeys(wanted))
