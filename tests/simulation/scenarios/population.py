"""What people create in a simulation: Workflows, or from `random_schedules.FIRST_SEED` on Schedules."""

from functools import partial
from typing import TYPE_CHECKING

from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_local.apiserver.history import Object

from tests.simulation.actors.objects import JobController
from tests.simulation.checks.object_tasks import ObjectChecker
from tests.simulation.scenarios import (
    child_run_acts,
    random_child_runs,
    random_containers,
    random_notifications,
    random_object_tasks,
    random_workflows,
    schedule_edits,
)

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation


def populate(simulation: "Simulation") -> None:
    """Create the objects of a simulation, each at its time."""
    if simulation.scheduled:
        schedule_edits.arrange(simulation)
        return
    if simulation.seed >= random_object_tasks.FIRST_SEED:
        random_object_tasks.put_account(simulation.fake)
        JobController(simulation)
        ObjectChecker(simulation)
    if random_child_runs.FIRST_SEED <= simulation.seed < random_notifications.FIRST_SEED:
        random_child_runs.put_templates(simulation.rng, simulation.fake)
        child_run_acts.schedule(simulation)
    for number in range(simulation.rng.choice((1, 1, 2))):
        body = _workflow(simulation, f"run-{number}")
        random_workflows.make_room(simulation.fake, body)
        moment = simulation.rng.choice((0.0, 1.0, 4.0))
        simulation.expected += 1
        simulation.person.call_later(moment, partial(_apply, simulation, body))


def _workflow(simulation: "Simulation", name: str) -> Object:
    if simulation.seed >= random_object_tasks.FIRST_SEED:
        return random_object_tasks.workflow(simulation.rng, name)
    if simulation.seed >= random_notifications.FIRST_SEED:
        return random_notifications.workflow(simulation.rng, name)
    if simulation.seed >= random_child_runs.FIRST_SEED:
        return random_child_runs.workflow(simulation.rng, name)
    if simulation.seed >= random_containers.FIRST_SEED:
        return random_containers.workflow(simulation.rng, name)
    return random_workflows.workflow(simulation.rng, name, short_pods=simulation.archive.installed)


def _apply(simulation: "Simulation", body: Object) -> None:
    """Create a Workflow, as with `kubectl apply`."""
    simulation.note(f"a person applies {body['metadata']['name']}: {body['spec']}")
    simulation.server.act(
        simulation.person, lambda: simulation.fake.objects.create(WORKFLOWS, random_workflows.NAMESPACE, body)
    )
    simulation.expected -= 1
