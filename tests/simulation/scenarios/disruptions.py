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


def schedule(world: "Simulation") -> None:
    """Draw the faults of a world; each chooses its target when it is due."""
    rng, until = world.rng, world.fault_profile.until
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
        for _ in range(rng.choice((1, 2, 4)) if kind in world.fault_profile.kinds else 0):
            world.person.call_later(0.5 + (until - 1.5) * rng.random() ** 1.5, act, world)


def calm(world: "Simulation") -> None:
    """End all faults: resume stopped processes and suspended runs, and repair most nodes."""
    for process in world.controllers.values():
        process.paused, process.cut_until = False, 0.0
    for flow in world.fake.history.of_kind(collection(WORKFLOWS)):
        if flow["spec"].get("suspend") and constants.LABEL_QUEUED not in flow["metadata"].get("labels", {}):
            _merge(world, flow, {"spec": {"suspend": False}})
    schedule_edits.calm(world)
    for machine in world.nodes.machines:
        if not machine.answers and world.rng.random() < 0.8:
            world.nodes.mend(machine)


def leader(world: "Simulation") -> Process | None:
    """Whoever holds the operator's Lease."""
    lease = world.fake.get(LEASES, SYSTEM, "torpor-operator")
    return world.controllers.get(lease["spec"].get("holderIdentity", "")) if lease else None


def break_watches(world: "Simulation", process: Process, how: str, seconds: float) -> None:
    """End the watches of a replica, and cut it off for a while; `compacted`: what it misses is gone by then."""
    world.note(f"the watches of {process.name}: {how}; cut off for {seconds} s")
    process.cut_until = world.loop.time() + seconds
    if how == "compacted":
        world.person.call_later(seconds, world.fake.history.compact)
    error = {"breaks": errors.Unreachable("reset by peer"), "gone": errors.Gone("too old")}.get(how)
    world.server.break_watches(process, error)


def pause(world: "Simulation", process: Process, seconds: float) -> None:
    """SIGSTOP, and SIGCONT later; of several, the one that lasts longest counts."""
    world.note(f"{process.name} is stopped for {seconds} s")
    process.paused = True
    process.paused_until = max(process.paused_until, world.loop.time() + seconds)

    def go_on() -> None:
        if world.loop.time() >= process.paused_until:
            world.note(f"{process.name} goes on")
            process.paused = False

    world.person.call_later(seconds, go_on)


def delete_run(world: "Simulation", run: Object) -> None:
    """As `kubectl delete taskrun` does."""
    world.note(f"a person deletes TaskRun {run['metadata']['name']}")
    _delete(world, run, TASKRUNS)


def clear(world: "Simulation") -> None:
    """A person asks for something to run again, or for what is not there."""
    flows = world.fake.history.of_kind(collection(WORKFLOWS))
    if not flows:
        return
    flow = world.rng.choice(flows)
    tasks = [task["name"] for task in flow["spec"]["tasks"]]
    task = world.rng.choice(tasks)
    text = world.rng.choice(("failed", task, f"{task}/0", f"{task}/1,{tasks[0]}", "nothing"))
    if "groups" in flow["spec"]:
        text = _within_groups(world, flow, text)
    wish(world, flow["metadata"]["namespace"], flow["metadata"]["name"], text)


def _within_groups(world: "Simulation", flow: Object, text: str) -> str:
    """Half of the time the instances at some index, or one index with all below it."""
    runs = world.fake.history.of_kind(collection(TASKRUNS))
    uid = flow["metadata"]["uid"]
    ours = [run for run in runs if run["metadata"]["ownerReferences"][0]["uid"] == uid and path_of(run)]
    if not ours or world.rng.random() < 0.5:
        return text
    run = world.rng.choice(ours)
    path = path_of(run)
    return f"{run['spec']['task']}/{written(path[: world.rng.randint(1, len(path))])}"


def wish(world: "Simulation", namespace: str, workflow: str, text: str) -> None:
    """As `kubectl annotate workflow run torpor.dev/clear=load/3` does."""
    address = world.fake.objects.address(WORKFLOWS, namespace, workflow)
    if world.fake.history.get(address) is not None:
        world.note(f"a person clears {text} of {workflow}")
        _act(world, lambda: world.fake.objects.edit(address, {"metadata": {"annotations": {constants.CLEAR: text}}}))


def _break_watches(world: "Simulation") -> None:
    how = world.rng.choice(("ends", "breaks", "gone", "compacted", "compacted"))
    break_watches(world, _controller(world), how, world.rng.choice((0.0, 2.0, 10.0)))


def _pause(world: "Simulation") -> None:
    # Who is stopped again and again while it leads must be found leading no more each time.
    process = leader(world) if world.rng.random() < 0.5 else None
    pause(world, process or _controller(world), world.rng.choice((2.0, 12.0, 25.0)))


def _restart(world: "Simulation") -> None:
    world.stop(_controller(world))


def _kill(world: "Simulation") -> None:
    world.crash(_controller(world))


def _evict(world: "Simulation") -> None:
    if pod_process := _choose_pod(world):
        world.note(f"{pod_process.name} is evicted")
        world.server.act(world.person, lambda: world.nodes.evict(pod_process))


def _oom(world: "Simulation") -> None:
    if pod_process := _choose_pod(world):
        world.note(f"{pod_process.name} runs out of memory")
        world.nodes.die(pod_process)


def _lose_node(world: "Simulation") -> None:
    answering = [machine for machine in world.nodes.machines if machine.answers]
    if len(answering) < 2:
        return
    machine = world.rng.choice(answering)
    dead = world.rng.random() < 0.5
    world.note(f"{machine.name} does not answer{', and nothing on it runs' if dead else ''}")
    world.nodes.lose(machine, dead=dead)
    force = world.rng.random() < 0.4
    world.person.call_later(world.rng.uniform(2.0, 6.0), world.nodes.give_up, machine, force)
    if world.rng.random() < 0.5:
        world.person.call_later(world.rng.uniform(4.0, 30.0), world.nodes.mend, machine)


def _edit(world: "Simulation") -> None:
    flows = world.fake.history.of_kind(collection(WORKFLOWS))
    runs = world.fake.history.of_kind(collection(TASKRUNS))
    live = [run for run in runs if run["status"]["state"] not in TERMINAL]
    what = world.rng.choices(_EDITS, _WEIGHTS)[0]
    if what == "delete pod":
        if pod_process := _choose_pod(world):
            grace = world.rng.choice((None, None, 0))
            world.note(f"a person deletes pod {pod_process.name}{' by force' if grace == 0 else ''}")
            world.server.act(world.person, lambda: world.nodes.delete(pod_process, grace))
    elif what == "delete run" and (live or runs):
        delete_run(world, world.rng.choice(live or runs))
    elif flows:
        flow = world.rng.choice(flows)
        world.note(f"a person: {what} {flow['metadata']['name']}")
        match what:
            case "delete workflow":
                _delete(world, flow, WORKFLOWS)
            case "parallelism":
                _merge(world, flow, {"spec": {"parallelism": world.rng.choice((1, 3))}})
            case "suspend":
                _merge(world, flow, {"spec": {"suspend": True}})
            case "mend":
                _merge(world, flow, {"spec": {"image": "mended", "params": {"mended": world.rng.randint(1, 9)}}})
            case _:
                _end(world, flow)


def _end(world: "Simulation", flow: Object) -> None:
    """Stop a run with its hooks, or cancel it without; then perhaps cancel the stop, or resume the run."""
    ways: tuple[Object, ...] = ({"stop": True}, {"cancel": True}, {"stop": True, "cancel": True})
    way = world.rng.choice(ways)
    world.note(f"{flow['metadata']['name']} is to end: {', '.join(way)}")
    _merge(world, flow, {"spec": way})
    meta = flow["metadata"]
    if world.rng.random() < 0.5:
        world.person.call_later(world.rng.uniform(1.0, 20.0), wish, world, meta["namespace"], meta["name"], "failed")


def _controller(world: "Simulation") -> Process:
    return world.rng.choice([process for _, process in sorted(world.controllers.items())])


def _choose_pod(world: "Simulation") -> RunningPod | None:
    standing = {pod["metadata"]["uid"] for pod in world.fake.history.of_kind(collection(PODS))}
    pod_processes = [
        pod_process
        for pod_process in world.nodes.running_pods.values()
        if pod_process.uid in standing and pod_process.ended is None
    ]
    return world.rng.choice(pod_processes) if pod_processes else None


def _merge(world: "Simulation", item: Object, merge: Object) -> None:
    """As `kubectl patch` would, with the generation that a change of spec counts."""
    counted = {"metadata": {"generation": item["metadata"]["generation"] + 1}}
    _act(world, lambda: world.fake.objects.edit(_address(world, item), merge | counted))


def _delete(world: "Simulation", item: Object, resource: Any) -> None:
    address = world.fake.objects.address(resource, item["metadata"]["namespace"], item["metadata"]["name"])
    if world.fake.history.get(address) is not None:
        _act(world, lambda: world.fake.objects.delete(address, {}))


def _address(world: "Simulation", item: Object) -> Any:
    return world.fake.objects.address(WORKFLOWS, item["metadata"]["namespace"], item["metadata"]["name"])


def _act(world: "Simulation", change: Callable[[], Any]) -> None:
    world.server.act(world.person, change)
