"""What people create in a world: Workflows, or from `random_schedules.FIRST_SEED` on Schedules."""

from functools import partial
from typing import TYPE_CHECKING

from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_local.apiserver.history import Object

from tests.simulation.scenarios import random_workflows, schedule_edits

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation


def populate(world: "Simulation") -> None:
    """Create the objects of a world, each at its time."""
    if world.scheduled:
        schedule_edits.arrange(world)
        return
    for number in range(world.rng.choice((1, 1, 2))):
        body = random_workflows.workflow(world.rng, f"run-{number}", short_pods=world.archive.installed)
        random_workflows.make_room(world.fake, body)
        moment = world.rng.choice((0.0, 1.0, 4.0))
        world.expected += 1
        world.person.call_later(moment, partial(_apply, world, body))


def _apply(world: "Simulation", body: Object) -> None:
    """Create a Workflow, as with `kubectl apply`."""
    world.note(f"a person applies {body['metadata']['name']}: {body['spec']}")
    world.server.act(world.person, lambda: world.fake.objects.create(WORKFLOWS, random_workflows.NAMESPACE, body))
    world.expected -= 1
