"""A person who clears failed runs in runs, and ends or suspends the runs that contain them."""

import random
from functools import partial
from typing import TYPE_CHECKING

from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_local.apiserver.history import Object, collection

from tests.simulation.scenarios import disruptions
from tests.simulation.scenarios.random_child_runs import FIRST_SEED

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

_REACHED = 25.0
"""Seconds after which a change of an outer run has reached the runs in it, once there are no faults."""
_RESUMED = _REACHED + 10.0
"""Seconds after a suspension when the runs in a run that was resumed go on: a wait of a minute has not ended."""


def schedule(simulation: "Simulation") -> None:
    """Clear failed runs while faults happen and afterwards; then end or suspend an outer run."""
    if simulation.seed < FIRST_SEED:
        return
    rng, until = random.Random(simulation.seed), simulation.fault_profile.until
    for _ in range(rng.choice((0, 2, 4))):
        simulation.person.call_later(2.0 + (until + 15.0) * rng.random(), _clear, simulation, rng)
    if rng.random() < 0.7:
        simulation.person.call_later(until + 3.0, _change, simulation, rng)


def _clear(simulation: "Simulation", rng: random.Random) -> None:
    """Run the failed tasks of a run again whose task has failed with it."""
    failed = [
        run for run in _runs(simulation) if run.get("status", {}).get("state") == "Failed" and _failed(simulation, run)
    ]
    if failed:
        metadata = rng.choice(failed)["metadata"]
        disruptions.wish(simulation, metadata["namespace"], metadata["name"], "failed")


def _failed(simulation: "Simulation", run: Object) -> bool:
    parent = run["spec"]["parent"]
    taskrun = simulation.fake.get(TASKRUNS, run["metadata"]["namespace"], parent["taskRun"])
    same = taskrun is not None and taskrun["metadata"]["uid"] == parent["uid"]
    return taskrun is not None and same and taskrun["status"]["state"] == "Failed"


def _change(simulation: "Simulation", rng: random.Random) -> None:
    """Cancel, stop or suspend a run that contains others which go on."""
    going = {
        run["spec"]["parent"]["workflow"] for run in _runs(simulation) if "completionTime" not in run.get("status", {})
    }
    outer = [flow for name in sorted(going) if (flow := simulation.fake.get(WORKFLOWS, "flows", name)) is not None]
    outer = [flow for flow in outer if "completionTime" not in flow.get("status", {})]
    if not outer:
        return
    name, field = rng.choice(outer)["metadata"]["name"], rng.choice(("cancel", "stop", "suspend", "suspend"))
    _set(simulation, name, field, value=True)
    cancelled = frozenset(run["metadata"]["name"] for run in _runs(simulation) if run["spec"].get("cancel"))
    simulation.person.call_later(_REACHED, simulation.child_runs.check_reached, name, field, cancelled)
    if field == "suspend":
        simulation.person.call_later(_REACHED + 1.0, partial(_set, simulation, name, field, value=False))
        simulation.person.call_later(_RESUMED, simulation.child_runs.check_resumed, name)


def _set(simulation: "Simulation", name: str, field: str, *, value: bool) -> None:
    flow = simulation.fake.get(WORKFLOWS, "flows", name)
    if flow is not None:
        disruptions.merge(simulation, flow, {"spec": {field: value}})


def _runs(simulation: "Simulation") -> list[Object]:
    """The runs in runs."""
    return [flow for flow in simulation.fake.history.of_kind(collection(WORKFLOWS)) if "parent" in flow["spec"]]
