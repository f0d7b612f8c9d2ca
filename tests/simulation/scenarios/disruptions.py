"""Schedules the disruptions that do not concern requests: killed, paused and disconnected processes, and edits."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.resources import LEASES, PODS, TASKRUNS, WORKFLOWS
from torpor_local.apiserver.history import Object, collection
from torpor_wire import constants
from torpor_wire.instance_paths import written
from torpor_wire.state import TERMINAL

from tests.simulation.actors.controllers import SYSTEM
from tests.simulation.actors.nodes import RunningPod
from tests.simulation.checks.workflow_shape import path_of
from tests.simulation.process import Process
from tests.simulation.scenarios import schedule_edits

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

_EDITS = ("end", "suspend", "delete run", "delete workflow", "delete pod", "parallelism", "mend")
_WEIGHTS = (1, 1, 2, 1, 4, 1, 1)


def schedule(simulation: "Simulation") -> None:
    """Draw the faults of a simulation; each chooses its target when it is due."""
    rng, until = simulation.rng, simulation.fault_profile.until
    acts: dict[str, Callable[[Simulation], None]] = {
        "breaks": _break_watches,
        "pause": _pause,
        "kill": _kill,
        "restart": _restart,
        "evict": _evict,
        "oom": _oom,
        "node": _lose_node,
        "edits": _edit,
        "clear": clear,
    }
    for kind, act in acts.items():
        for _ in range(rng.choice((1, 2, 4)) if kind in simulation.fault_profile.kinds else 0):
            simulation.person.call_later(0.5 + (until - 1.5) * rng.random() ** 1.5, act, simulation)


def calm(simulation: "Simulation") -> None:
    """End all faults: resume stopped processes and suspended runs, and repair most nodes."""
    for process in simulation.controllers.values():
        process.paused, process.cut_until = False, 0.0
    for flow in simulation.fake.history.of_kind(collection(WORKFLOWS)):
        if flow["spec"].get("suspend") and constants.LABEL_QUEUED not in flow["metadata"].get("labels", {}):
            merge(simulation, flow, {"spec": {"suspend": False}})
    schedule_edits.calm(simulation)
    for machine in simulation.nodes.machines:
        if not machine.answers and simulation.rng.random() < 0.8:
            simulation.nodes.mend(machine)


def leader(simulation: "Simulation") -> Process | None:
    """Whoever holds the operator's Lease."""
    lease = simulation.fake.get(LEASES, SYSTEM, "torpor-operator")
    return simulation.controllers.get(lease["spec"].get("holderIdentity", "")) if lease else None


def break_watches(simulation: "Simulation", process: Process, how: str, seconds: float) -> None:
    """End the watches of a replica, and cut it off for a while; `compacted`: what it misses is gone by then."""
    simulation.note(f"the watches of {process.name}: {how}; cut off for {seconds} s")
    process.cut_until = simulation.loop.time() + seconds
    if how == "compacted":
        simulation.person.call_later(seconds, simulation.fake.history.compact)
    error = {"breaks": errors.Unreachable("reset by peer"), "gone": errors.Gone("too old")}.get(how)
    simulation.server.break_watches(process, error)


def pause(simulation: "Simulation", process: Process, seconds: float) -> None:
    """SIGSTOP, and SIGCONT later; of several, the one that lasts longest counts."""
    simulation.note(f"{process.name} is stopped for {seconds} s")
    process.paused = True
    process.paused_until = max(process.paused_until, simulation.loop.time() + seconds)

    def go_on() -> None:
        if simulation.loop.time() >= process.paused_until:
            simulation.note(f"{process.name} goes on")
            process.paused = False

    simulation.person.call_later(seconds, go_on)


def delete_run(simulation: "Simulation", run: Object) -> None:
    """As `kubectl delete taskrun` does."""
    simulation.note(f"a person deletes TaskRun {run['metadata']['name']}")
    _delete(simulation, run, TASKRUNS)


def clear(simulation: "Simulation") -> None:
    """A person asks for something to run again, or for what is not there."""
    flows = [flow for flow in simulation.fake.history.of_kind(collection(WORKFLOWS)) if "tasks" in flow["spec"]]
    if not flows:
        return
    flow = simulation.rng.choice(flows)
    tasks = [task["name"] for task in flow["spec"]["tasks"]]
    task = simulation.rng.choice(tasks)
    text = simulation.rng.choice(("failed", task, f"{task}/0", f"{task}/1,{tasks[0]}", "nothing"))
    if "groups" in flow["spec"]:
        text = _within_groups(simulation, flow, text)
    wish(simulation, flow["metadata"]["namespace"], flow["metadata"]["name"], text)


def _within_groups(simulation: "Simulation", flow: Object, text: str) -> str:
    """Half of the time the instances at some index, or one index with all below it."""
    runs = simulation.fake.history.of_kind(collection(TASKRUNS))
    uid = flow["metadata"]["uid"]
    ours = [run for run in runs if run["metadata"]["ownerReferences"][0]["uid"] == uid and path_of(run)]
    if not ours or simulation.rng.random() < 0.5:
        return text
    run = simulation.rng.choice(ours)
    path = path_of(run)
    return f"{run['spec']['task']}/{written(path[: simulation.rng.randint(1, len(path))])}"


def wish(simulation: "Simulation", namespace: str, workflow: str, text: str) -> None:
    """As `kubectl annotate workflow run torpor.dev/clear=load/3` does."""
    address = simulation.fake.objects.address(WORKFLOWS, namespace, workflow)
    if simulation.fake.history.get(address) is not None:
        simulation.note(f"a person clears {text} of {workflow}")
        _act(
            simulation,
            lambda: simulation.fake.objects.edit(address, {"metadata": {"annotations": {constants.CLEAR: text}}}),
        )


def _break_watches(simulation: "Simulation") -> None:
    how = simulation.rng.choice(("ends", "breaks", "gone", "compacted", "compacted"))
    break_watches(simulation, _controller(simulation), how, simulation.rng.choice((0.0, 2.0, 10.0)))


def _pause(simulation: "Simulation") -> None:
    # Who is stopped again and again while it leads must be found leading no more each time.
    process = leader(simulation) if simulation.rng.random() < 0.5 else None
    pause(simulation, process or _controller(simulation), simulation.rng.choice((2.0, 12.0, 25.0)))


def _restart(simulation: "Simulation") -> None:
    simulation.stop(_controller(simulation))


def _kill(simulation: "Simulation") -> None:
    simulation.crash(_controller(simulation))


def _evict(simulation: "Simulation") -> None:
    if pod_process := _choose_pod(simulation):
        simulation.note(f"{pod_process.name} is evicted")
        simulation.server.act(simulation.person, lambda: simulation.nodes.evict(pod_process))


def _oom(simulation: "Simulation") -> None:
    if pod_process := _choose_pod(simulation):
        simulation.note(f"{pod_process.name} runs out of memory")
        simulation.nodes.die(pod_process)


def _lose_node(simulation: "Simulation") -> None:
    answering = [machine for machine in simulation.nodes.machines if machine.answers]
    if len(answering) < 2:
        return
    machine = simulation.rng.choice(answering)
    dead = simulation.rng.random() < 0.5
    simulation.note(f"{machine.name} does not answer{', and nothing on it runs' if dead else ''}")
    simulation.nodes.lose(machine, dead=dead)
    force = simulation.rng.random() < 0.4
    simulation.person.call_later(simulation.rng.uniform(2.0, 6.0), simulation.nodes.give_up, machine, force)
    if simulation.rng.random() < 0.5:
        simulation.person.call_later(simulation.rng.uniform(4.0, 30.0), simulation.nodes.mend, machine)


def _edit(simulation: "Simulation") -> None:
    flows = simulation.fake.history.of_kind(collection(WORKFLOWS))
    runs = simulation.fake.history.of_kind(collection(TASKRUNS))
    live = [run for run in runs if run["status"]["state"] not in TERMINAL]
    what = simulation.rng.choices(_EDITS, _WEIGHTS)[0]
    if what == "delete pod":
        if pod_process := _choose_pod(simulation):
            grace = simulation.rng.choice((None, None, 0))
            simulation.note(f"a person deletes pod {pod_process.name}{' by force' if grace == 0 else ''}")
            simulation.server.act(simulation.person, lambda: simulation.nodes.delete(pod_process, grace))
    elif what == "delete run" and (live or runs):
        delete_run(simulation, simulation.rng.choice(live or runs))
    elif flows:
        flow = simulation.rng.choice(flows)
        simulation.note(f"a person: {what} {flow['metadata']['name']}")
        match what:
            case "delete workflow":
                _delete(simulation, flow, WORKFLOWS)
            case "parallelism":
                merge(simulation, flow, {"spec": {"parallelism": simulation.rng.choice((1, 3))}})
            case "suspend":
                merge(simulation, flow, {"spec": {"suspend": True}})
            case "mend":
                merge(
                    simulation, flow, {"spec": {"image": "mended", "params": {"mended": simulation.rng.randint(1, 9)}}}
                )
            case _:
                _end(simulation, flow)


def _end(simulation: "Simulation", flow: Object) -> None:
    """Stop a run with its hooks, or cancel it without; then perhaps cancel the stop, or resume the run."""
    ways: tuple[Object, ...] = ({"stop": True}, {"cancel": True}, {"stop": True, "cancel": True})
    way = simulation.rng.choice(ways)
    simulation.note(f"{flow['metadata']['name']} is to end: {', '.join(way)}")
    merge(simulation, flow, {"spec": way})
    meta = flow["metadata"]
    if simulation.rng.random() < 0.5:
        simulation.person.call_later(
            simulation.rng.uniform(1.0, 20.0), wish, simulation, meta["namespace"], meta["name"], "failed"
        )


def _controller(simulation: "Simulation") -> Process:
    return simulation.rng.choice([process for _, process in sorted(simulation.controllers.items())])


def _choose_pod(simulation: "Simulation") -> RunningPod | None:
    standing = {pod["metadata"]["uid"] for pod in simulation.fake.history.of_kind(collection(PODS))}
    pod_processes = [
        pod_process
        for pod_process in simulation.nodes.running_pods.values()
        if pod_process.uid in standing and pod_process.ended is None
    ]
    return simulation.rng.choice(pod_processes) if pod_processes else None


def merge(simulation: "Simulation", item: Object, changes: Object) -> None:
    """As `kubectl patch` would, with the generation that a change of spec counts."""
    counted = {"metadata": {"generation": item["metadata"]["generation"] + 1}}
    _act(simulation, lambda: simulation.fake.objects.edit(_address(simulation, item), changes | counted))


def _delete(simulation: "Simulation", item: Object, resource: Any) -> None:
    address = simulation.fake.objects.address(resource, item["metadata"]["namespace"], item["metadata"]["name"])
    if simulation.fake.history.get(address) is not None:
        _act(simulation, lambda: simulation.fake.objects.delete(address, {}))


def _address(simulation: "Simulation", item: Object) -> Any:
    return simulation.fake.objects.address(WORKFLOWS, item["metadata"]["namespace"], item["metadata"]["name"])


def _act(simulation: "Simulation", change: Callable[[], Any]) -> None:
    simulation.server.act(simulation.person, change)
