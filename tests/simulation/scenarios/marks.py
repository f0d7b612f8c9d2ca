"""A person who marks instances, in seeds from FIRST_SEED on: the simulations of other seeds stay as they are."""

import random
from typing import TYPE_CHECKING

from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_local.apiserver.history import collection
from torpor_wire import constants
from torpor_wire.instance_paths import written

from tests.simulation.checks.workflow_shape import path_of

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

FIRST_SEED = 30_000
_LAST_SEED = 39_999
_STATES = ("succeeded", "skipped", "failed")


def schedule(simulation: "Simulation") -> None:
    """Mark some instances while faults happen."""
    if not FIRST_SEED <= simulation.seed <= _LAST_SEED:
        return
    rng = random.Random(simulation.seed)
    for _ in range(rng.randint(3, 12)):
        simulation.person.call_later(
            0.5 + (simulation.fault_profile.until - 1.5) * rng.random(), _mark, simulation, rng
        )


def _mark(simulation: "Simulation", rng: random.Random) -> None:
    flows = [
        workflow for workflow in simulation.fake.history.of_kind(collection(WORKFLOWS)) if not _is_cancelled(workflow)
    ]
    if not flows:
        return
    flow = rng.choice(flows)
    text = f"{rng.choice(_STATES)} {_instance(simulation, flow['metadata']['uid'], rng, flow)} because of it"
    annotations = {constants.MARK: text}
    if text.startswith("succeeded") and rng.random() < 0.5:
        annotations[constants.MARK_RESULT] = "1"
    address = simulation.fake.objects.address(WORKFLOWS, flow["metadata"]["namespace"], flow["metadata"]["name"])
    simulation.note(f"a person marks {text} of {flow['metadata']['name']}")
    simulation.server.act(
        simulation.person, lambda: simulation.fake.objects.edit(address, {"metadata": {"annotations": annotations}})
    )


def _instance(simulation: "Simulation", uid: str, rng: random.Random, flow: dict[str, object]) -> str:
    """A TaskRun that exists, or a task of which none may exist."""
    runs = simulation.fake.history.of_kind(collection(TASKRUNS))
    ours = [run for run in runs if run["metadata"]["ownerReferences"][0]["uid"] == uid]
    if not ours or rng.random() < 0.4:
        return str(rng.choice([task["name"] for task in flow["spec"]["tasks"]]))  # type: ignore[index]
    run = rng.choice(ours)
    path = path_of(run)
    return f"{run['spec']['task']}/{written(path)}" if path else str(run["spec"]["task"])


def _is_cancelled(flow: dict[str, object]) -> bool:
    spec = flow["spec"]
    return bool(isinstance(spec, dict) and (spec.get("cancel") or spec.get("stop")))
