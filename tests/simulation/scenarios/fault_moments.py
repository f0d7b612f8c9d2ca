"""Injects faults at the worst moment: after a commit, before its watchers see it.

The random times of `disruptions` seldom hit these few milliseconds.
"""

from typing import TYPE_CHECKING

from torpor_kubernetes.client.resources import PODS, SCHEDULES, TASKRUNS, WORKFLOWS
from torpor_local.apiserver.history import ObjectChange, collection
from torpor_wire.instance_paths import written

from tests.simulation.actors.nodes import RunningPod
from tests.simulation.checks.workflow_shape import path_of
from tests.simulation.process import Process
from tests.simulation.scenarios import disruptions, schedule_edits

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

_PAUSE_IN_A_FAN_OUT = 0.25
_KILL, _RESTART, _PAUSE, _BREAK, _DELETE, _CLEAR = 0.06, 0.04, 0.02, 0.06, 0.06, 0.02
_SUSPEND = 0.12
_MOMENTS = frozenset(map(collection, (TASKRUNS, PODS)))
_SCHEDULED = _MOMENTS | frozenset(map(collection, (WORKFLOWS, SCHEDULES)))
_KINDS = frozenset({"kill", "restart", "pause", "breaks", "edits", "clear"})


def disrupt_commit(simulation: "Simulation", writer: Process, entry: ObjectChange) -> None:
    """One commit: perhaps the time for one of the faults of this simulation."""
    kinds = simulation.fault_profile.kinds & _KINDS
    moments = _SCHEDULED if simulation.scheduled else _MOMENTS
    if simulation.faults.calm or not kinds or entry.address.kind not in moments:
        return
    if "kill" in kinds and simulation.rng.random() < _KILL:
        simulation.person.call_later(0.0, _kill_leader, simulation)
    if "restart" in kinds and simulation.rng.random() < _RESTART:
        simulation.person.call_later(0.0, _restart_leader, simulation)
    if "pause" in kinds and simulation.rng.random() < _pause(kinds, entry):
        simulation.person.call_later(0.0, _pause_leader, simulation, entry)
    if (
        simulation.scheduled
        and writer.kind == "triggerer"
        and entry.after is not None
        and simulation.rng.random() < _SUSPEND
    ):
        source = entry.after["spec"].get("schedule", {"name": ""})
        simulation.person.call_later(0.0, schedule_edits.seize_event, simulation, source["name"])
    if entry.address.kind == collection(TASKRUNS):
        _seize_taskrun(simulation, kinds, writer, entry)


def _pause(kinds: frozenset[str], entry: ObjectChange) -> float:
    """How likely the leader is stopped now: in the middle of a fan-out what it does next may be undone by a person."""
    return _PAUSE_IN_A_FAN_OUT if "edits" in kinds and _begins_a_fan_out(entry) else _PAUSE


def disrupt_request(simulation: "Simulation", process: Process) -> None:
    """While a request of a pod is under way, the pod may be disrupted, or its TaskRun be made anew.

    What then arrives is of a launch before, or of another TaskRun of the same name.
    """
    pod_process = simulation.nodes.running_pod_of(process) if process.kind == "pod" else None
    if pod_process is None:
        return
    if "evict" in simulation.fault_profile.kinds and simulation.rng.random() < 0.5:
        simulation.note(f"{pod_process.name} is evicted while its request is under way")
        simulation.person.call_later(0.1, simulation.nodes.evict, pod_process)
    if "oom" in simulation.fault_profile.kinds and simulation.rng.random() < 0.5:
        simulation.note(f"{pod_process.name} runs out of memory while its request is under way")
        simulation.person.call_later(0.1, simulation.nodes.die, pod_process)
    if "clear" in simulation.fault_profile.kinds and simulation.rng.random() < 0.5:
        simulation.person.call_later(0.1, _recreate, simulation, pod_process)


def _recreate(simulation: "Simulation", pod_process: RunningPod) -> None:
    """A person clears what a pod runs, half of the time after deleting its TaskRun, so that nothing is waited for."""
    owner = pod_process.program.execution.uid if pod_process.program else ""
    run = next(
        (run for run in simulation.fake.history.of_kind(collection(TASKRUNS)) if run["metadata"]["uid"] == owner), None
    )
    if run is None:
        return
    if simulation.rng.random() < 0.5:
        disruptions.delete_run(simulation, run)
    task, path = run["spec"]["task"], written(path_of(run))
    wish = f"{task}/{path}" if path else task
    disruptions.wish(simulation, run["metadata"]["namespace"], run["spec"]["workflow"]["name"], wish)


def _seize_taskrun(simulation: "Simulation", kinds: frozenset[str], writer: Process, entry: ObjectChange) -> None:
    rng, run = simulation.rng, entry.after
    if "breaks" in kinds and writer.kind == "triggerer" and rng.random() < _BREAK:
        # Long enough for the next wait to begin unseen, and too short for another to take the shard over.
        simulation.person.call_later(
            0.0, disruptions.break_watches, simulation, writer, "compacted", rng.choice((3.0, 5.0))
        )
    if "edits" in kinds and entry.before is None and run is not None and rng.random() < _DELETE:
        simulation.person.call_later(rng.choice((0.02, 0.3, 0.6)), disruptions.delete_run, simulation, run)
    if "clear" in kinds and rng.random() < _CLEAR:
        simulation.person.call_later(0.0, disruptions.clear, simulation)


def _kill_leader(simulation: "Simulation") -> None:
    """It may come back at once, or stay away until the other has taken over."""
    if (process := disruptions.leader(simulation)) is not None:
        simulation.crash(process, away=simulation.rng.choice((0.3, 12.0)))


def _restart_leader(simulation: "Simulation") -> None:
    if (process := disruptions.leader(simulation)) is not None and not process.stopping:
        simulation.stop(process)


def _pause_leader(simulation: "Simulation", entry: ObjectChange) -> None:
    """While it is stopped, another goes on; and what that one has made, somebody may delete before the first wakes."""
    if (process := disruptions.leader(simulation)) is None or process.paused:
        return
    seconds = simulation.rng.choice((9.0, 12.0))
    disruptions.pause(simulation, process, seconds)
    if "edits" in simulation.fault_profile.kinds and _begins_a_fan_out(entry) and entry.after is not None:
        simulation.person.call_later(seconds - 0.1, _delete_latest, simulation, entry.after["spec"]["task"])


def _begins_a_fan_out(entry: ObjectChange) -> bool:
    return entry.before is None and entry.address.kind == collection(TASKRUNS)


def _delete_latest(simulation: "Simulation", task: str) -> None:
    runs = [run for run in simulation.fake.history.of_kind(collection(TASKRUNS)) if run["spec"]["task"] == task]
    if runs:
        disruptions.delete_run(simulation, max(runs, key=lambda run: str(run["metadata"]["uid"])))
