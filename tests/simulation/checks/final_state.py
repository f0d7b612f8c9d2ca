"""Checks the state after the last fault: every run has ended (I5), and nothing is left over (I6)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from torpor_kubernetes.client.resources import LEASES, PODS, SCHEDULES, TASKRUNS, WORKFLOWS
from torpor_local.apiserver.history import Object, collection
from torpor_wire import constants
from torpor_wire.instance_paths import Path
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State, TaskState

from tests.simulation.checks import object_tasks
from tests.simulation.checks.failures import judge_run
from tests.simulation.checks.invariants import held
from tests.simulation.checks.workflow_shape import Shape, path_of

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation


def is_finished(simulation: "Simulation") -> bool:
    """Whether every Workflow has ended, or has stopped with a stated reason."""
    flows = simulation.fake.history.of_kind(collection(WORKFLOWS))
    return (
        all(_over(simulation, flow) for flow in flows) and not simulation.expected and simulation.schedules.is_quiet()
    )


def check_progress(simulation: "Simulation") -> None:
    """I5, and S1 to S6 in a simulation with Schedules."""
    simulation.schedules.check_end()
    for flow in simulation.fake.history.of_kind(collection(WORKFLOWS)):
        name, status = flow["metadata"]["name"], flow.get("status", {})
        open_runs = [_described(run) for run in _runs(simulation, flow) if run["status"]["state"] not in TERMINAL]
        simulation.checker.expect(
            "I5", _over(simulation, flow), f"{name} does not end: {status.get('state')}, {open_runs}"
        )
        if status.get("completionTime"):
            simulation.checker.expect(
                "I5", not open_runs, f"{name} has ended: {status.get('state')}, but not {open_runs}"
            )
        if status.get("state") == "Succeeded":
            _judge_group_paths(simulation, flow)
        if status.get("completionTime"):
            _judge_hook(simulation, flow)
            judge_run(simulation.checker.expect, flow)


def _judge_hook(simulation: "Simulation", flow: Object) -> None:
    """The hook of a run that was stopped has run, whatever became of it; that of one that was cancelled need not."""
    status = flow["status"]
    description = next(entry["message"] for entry in status["conditions"] if entry["type"] == "Succeeded")
    hooks = {task["name"] for task in flow["spec"].get("tasks", ()) if "hook" in task}
    if description == "spec.stop was set":
        idle = [entry["name"] for entry in status.get("tasks", ()) if entry["name"] in hooks and not entry["created"]]
        simulation.checker.expect("I5", not idle, f"{flow['metadata']['name']} was stopped, and {idle} did not run")


def _judge_group_paths(simulation: "Simulation", flow: Object) -> None:
    """Where all before a task succeeded, at its own indexes and at those around, it ran too."""
    shape = simulation.checker.order.shape(flow)
    ran: defaultdict[str, set[Path]] = defaultdict(set)
    skipped: defaultdict[str, set[Path]] = defaultdict(set)
    for run in _runs(simulation, flow):
        if run["status"]["state"] == State.SUCCEEDED:
            ran[run["spec"]["task"]].add(path_of(run))
        if run["status"]["state"] == State.SKIPPED:
            skipped[run["spec"]["task"]].add(path_of(run))
    may_fail = {task["name"] for task in flow["spec"].get("tasks", ()) if task.get("mayFail")}
    counted = {task["name"] for task in flow["status"]["tasks"] if task["state"] == TaskState.SUCCEEDED}
    for task, before in (entry for entry in shape.unhindered() if entry[0] not in may_fail):
        for group_path in _due(shape, task, before, ran):
            description = f"{task} did not run at {group_path}, where all before it succeeded"
            deleted = not group_path and task in counted  # after its end
            simulation.checker.expect("I5", deleted or group_path in ran[task] | skipped[task], description)
    for task in flow["status"]["tasks"]:
        _judge_skips(simulation, task, ran[task["name"]], skipped[task["name"]])


def _judge_skips(simulation: "Simulation", task: Object, ran: set[Path], skipped: set[Path]) -> None:
    """What skipped itself is counted so, and a task of which nothing succeeded is no success."""
    name, counted = task["name"], task.get("skipped", 0)
    simulation.checker.expect(
        "I5", counted >= len(skipped), f"{name} counts {counted} skipped, and {len(skipped)} were"
    )
    succeeded = task["state"] == TaskState.SUCCEEDED
    simulation.checker.expect(
        "I5", not (succeeded and skipped and not ran), f"{name} succeeded, and all of it was skipped"
    )


def _due(shape: Shape, task: str, before: frozenset[str], ran: Mapping[str, set[Path]]) -> Iterable[Path]:
    """The group indexes of a task, as far as another task of its groups or its list determines them."""
    chain = shape.chains[task]
    if not before and len(chain) == 1:
        return ((index,) for index in range(shape.width(chain[0]) or 0))
    if any(shape.chains[other] != chain or shape.mapped(other) for other in before):
        return ()
    return set[Path].intersection(*(ran[other] for other in before)) if before else ()


def check_leaks(simulation: "Simulation") -> None:
    """I6."""
    expect = simulation.checker.expect
    flows = {flow["metadata"]["uid"]: flow for flow in simulation.fake.history.of_kind(collection(WORKFLOWS))}
    schedules = {
        schedule["metadata"]["uid"]: schedule for schedule in simulation.fake.history.of_kind(collection(SCHEDULES))
    }
    runs = {run["metadata"]["uid"]: run for run in simulation.fake.history.of_kind(collection(TASKRUNS))}
    for flow in flows.values():
        meta = flow["metadata"]
        if "completionTime" in flow.get("status", {}):
            kept = constants.FINALIZER in meta.get("finalizers", [])
            expect("I6", not kept, f"{meta['name']} has ended and keeps its finalizer")
            expect("I6", "deletionTimestamp" not in meta, f"{meta['name']} was deleted and is still there")
    for run in runs.values():
        owned = run["spec"].get("workflow", run["spec"].get("schedule"))["uid"] in flows | schedules
        expect("I6", owned, f"{run['metadata']['name']} outlives its owner")
    for pod in simulation.fake.history.of_kind(collection(PODS)):
        _judge_pod(simulation, pod, runs)
    for lease in simulation.fake.history.of_kind(collection(LEASES)):
        holder = lease["spec"].get("holderIdentity", "")
        known = (
            holder in simulation.controllers or holder in simulation.gone
        )  # whose Lease goes when it has long been silent
        expect("I6", known, f"the Lease {lease['metadata']['name']} of {holder}, who is no more")
    object_tasks.check_leaks(simulation)


def _judge_pod(simulation: "Simulation", pod: Object, runs: dict[str, Object]) -> None:
    name = pod["metadata"]["name"]
    owner = next((ref["uid"] for ref in pod["metadata"].get("ownerReferences", [])), "")
    pod_process = simulation.nodes.running_pods.get(pod["metadata"]["uid"])
    if pod_process is not None and (pod_process.lingers or not pod_process.machine.answers):
        return  # where a run stalls, what else it has goes on to this moment
    over = owner not in runs or runs[owner]["status"]["state"] in TERMINAL
    live = pod["status"].get("phase") not in {"Succeeded", "Failed"}
    simulation.checker.expect("I6", not (over and live), f"{name} lives on after its TaskRun")
    simulation.checker.expect("I6", not (over and held(pod)), f"{name} is kept by a finalizer, its TaskRun is over")


def _over(simulation: "Simulation", flow: Object) -> bool:
    if {constants.CLEAR, constants.MARK} & flow["metadata"].get(
        "annotations", {}
    ).keys():  # the next one waits for one that is kept
        return bool(flow.get("status", {}).get("clearing")) and _kept(simulation, flow)
    runs = [run for run in _runs(simulation, flow) if run["status"]["state"] not in TERMINAL]
    if flow.get("status", {}).get("completionTime"):
        return not runs  # one that an old list had not shown is cancelled a moment later
    # One that stalls holds its slot, and others may wait for that; one that has ended may keep its successor waiting.
    return (
        any(_stalled(simulation, run) or _waits_for_a_stalled_run(simulation, run) for run in runs)
        or _kept(simulation, flow)
        or _waits_for_a_lost_run(simulation, flow)
    )


def _waits_for_a_stalled_run(simulation: "Simulation", taskrun: Object) -> bool:
    """Whether it waits for a run that it has started, and that stalls."""
    flows = simulation.fake.history.of_kind(collection(WORKFLOWS)) if "run" in taskrun["spec"] else ()
    uid = taskrun["metadata"]["uid"]
    children = [flow for flow in flows if flow["spec"].get("parent", {}).get("uid") == uid]
    return any("completionTime" not in flow.get("status", {}) and _over(simulation, flow) for flow in children)


def _waits_for_a_lost_run(simulation: "Simulation", flow: Object) -> bool:
    """Whether it is queued behind a run of its Schedule that never ends."""
    is_queued = flow["spec"].get("suspend") and constants.LABEL_QUEUED in flow["metadata"].get("labels", {})
    return bool(is_queued) and simulation.schedules.has_lost_run(flow["spec"]["runOf"]["schedule"])


def _stalled(simulation: "Simulation", run: Object) -> bool:
    """NodeLost, naming a pod on a node that really does not answer."""
    status = run["status"]
    return status.get("reason") == Reason.NODE_LOST and _names_a_lost_pod(simulation, status.get("message", ""))


def _kept(simulation: "Simulation", flow: Object) -> bool:
    """A clearing waits for a TaskRun that cannot go, and the Workflow says why."""
    conditions = flow.get("status", {}).get("conditions", [])
    description = next(
        (entry for entry in conditions if entry["type"] == "Stalled" and entry["status"] == "True"), None
    )
    return (
        description is not None
        and description["reason"] == Reason.NODE_LOST
        and _names_a_lost_pod(simulation, description["message"])
    )


def _names_a_lost_pod(simulation: "Simulation", message: str) -> bool:
    lost = [pod_process for pod_process in simulation.nodes.running_pods.values() if not pod_process.machine.answers]
    return any(f"pod {pod_process.name} " in message for pod_process in lost)


def _runs(simulation: "Simulation", flow: Object) -> list[Object]:
    uid, runs = flow["metadata"]["uid"], simulation.fake.history.of_kind(collection(TASKRUNS))
    return [run for run in runs if "workflow" in run["spec"] and run["spec"]["workflow"]["uid"] == uid]


def _described(run: Object) -> str:
    status = run["status"]
    numbers = f"a{status['attempt']} s{status['segment']} l{status['launch']}"
    return f"{run['metadata']['name']} {status['state']} {numbers} {status.get('reason', '')}".rstrip()
