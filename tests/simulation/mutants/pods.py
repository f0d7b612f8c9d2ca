"""Guards of pods: a TaskRun has one live pod, and the operator notices every start and end of a container."""

from dataclasses import replace
from typing import Any

from torpor_operator.model import pod as pods
from torpor_operator.model.pod import Pod
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.state import conditions
from torpor_operator.taskrun import containers, pod_builder, pod_failure, step, transitions
from torpor_operator.workflows import pod_writer
from torpor_operator.workflows.orphans import OrphanedPods
from torpor_operator.workflows.plan import finished_run, pod_retention
from torpor_operator.workflows.plan.start import deletion_guard

from tests.simulation.actors.archive import FIRST_SEED
from tests.simulation.mutants.mutant import Mutant, put, put_for


def _former_pod() -> None:
    put(step.TaskRunView, "former_pods", property(lambda _: ()))


def _unclear_creation() -> None:
    next_step = transitions.next_step

    def forgetful(view: step.TaskRunView) -> step.Step:
        return next_step(replace(view, unconfirmed_pod=None))

    put(transitions, "next_step", forgetful)


def _former_taskrun() -> None:
    put_for(pod_writer, pods, parse_pod=lambda body: replace(pods.parse_pod(body), owner_name=""))


def _gate() -> None:
    build = pod_builder.build

    def ungated(*args: Any) -> dict[str, Any]:
        body = build(*args)
        body["spec"].pop("schedulingGates", None)
        return body

    put(pod_builder, "build", ungated)
    has_finalizer = Pod.has_finalizer.fget  # type: ignore[attr-defined]
    put(Pod, "gated", property(lambda pod: has_finalizer(pod) and pod.phase == "Pending"))


def _claim_before_gate() -> None:
    put(containers, "claim", lambda _, pod: containers.remove_gate(pod))


def _finalizer() -> None:
    build = pod_builder.build

    def unheld(*args: Any) -> dict[str, Any]:
        body = build(*args)
        body["metadata"]["finalizers"] = []
        return body

    put(pod_builder, "build", unheld)


def _orphans() -> None:
    put(OrphanedPods, "add", lambda *_: None)


def _unguarded_waits() -> None:
    put(deletion_guard, "needs_finalizer", lambda _: False)


def _silent_end() -> None:
    put(pod_failure, "ended_without_report", lambda *_: step.NOTHING)


def _logs() -> None:
    put(pod_retention, "unsettled", lambda _snapshot, _pods, plan: (frozenset(), plan))


def _log_grace() -> None:
    put(pod_retention, "GRACE", 10.0)


def _unarchived() -> None:
    apply_ttl = finished_run.apply_ttl

    def without_archive(snapshot: Snapshot, plan: WorkflowPlan, completed: str) -> WorkflowPlan:
        return apply_ttl(replace(snapshot, archive=None), plan, completed)

    put(conditions, "is_archived", lambda _: True)
    put(finished_run, "apply_ttl", without_archive)


MUTANTS = (
    Mutant(
        name="log of a deleted pod",
        without="an ended pod is deleted before its log is kept",
        switch=_logs,
        first_seed=FIRST_SEED,
    ),
    Mutant(
        name="time for a log",
        without="an ended pod waits ten seconds for its log",
        switch=_log_grace,
        first_seed=FIRST_SEED,
    ),
    Mutant(
        name="archive before TTL",
        without="a TTL deletes a run that is not archived",
        switch=_unarchived,
        first_seed=FIRST_SEED,
    ),
    Mutant(name="previous pod", without="a segment starts before the previous pod ends", switch=_former_pod),
    Mutant(
        name="ambiguous pod creation",
        without="a pod whose creation got no response is forgotten",
        switch=_unclear_creation,
    ),
    Mutant(
        name="pod of a deleted TaskRun",
        without="a pod name that is still in use fails the launch",
        switch=_former_taskrun,
    ),
    Mutant(name="scheduling gate", without="a container may start before it is claimed", switch=_gate),
    Mutant(
        name="claim before scheduling",
        without="the scheduling gate is removed without a claim",
        switch=_claim_before_gate,
    ),
    Mutant(name="finalizer", without="a container's pod may be deleted before its outcome is read", switch=_finalizer),
    Mutant(name="orphaned pods", without="the finalizer of a pod without a TaskRun stays", switch=_orphans),
    Mutant(
        name="finalizer of a run with waits",
        without="a deleted run with waits goes before its triggers have stopped",
        switch=_unguarded_waits,
    ),
    Mutant(name="silent pod end", without="a pod that ended without a report stays Running", switch=_silent_end),
)
