"""Tasks mapped within groups, of which a plan makes a few at a time, and a status tells in few words."""

from torpor_api.models.taskrun import ArgumentSource
from torpor_api.models.workflow import TaskState, TaskStatus
from torpor_operator.state import instance_indexes
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path
from torpor_wire.state import State

from tests.support.builders import Body, python
from tests.support.group_builders import run
from tests.support.plan_world import World

PAIR: Body = {"name": "side", "expand": [{"name": "side", "over": ["left", "right"]}]}
LIST = python("list", group="side")
PARTS = python("parts", group="side", after=["list"], expand=[{"name": "n", "over": [1, 2, 3]}])


def act(world: World) -> None:
    """A plan within the second in which the status is not written again."""
    for action in world.plan().actions:
        world.act(action)


def test_an_index_whose_width_the_status_does_not_say_yet_is_not_taken_for_one_that_has_all() -> None:
    world = run(LIST, PARTS, groups=[PAIR], parallelism=2)
    for index in (0, 1):
        world.claim("list", (index,))
    world.report_success("list", (1,))
    act(world)
    assert world.has("parts", (1, 0))
    world.report_success("list", (0,))
    world.settle()  # the earlier index takes all that a plan may make
    for _ in range(6):
        runs = map(world.by_name, world.taskruns)
        world.succeed("parts", index=next(run.spec.path for run in runs if run.status.state is State.SCHEDULED))
    assert (world.task("parts").succeeded, world.status.state) == (6, "Succeeded")


def test_a_status_holds_ten_thousand_indexes_with_another_width_at_each() -> None:
    widths: dict[Path, Indexes] = {
        (one, two): Indexes.below(1 + (one + two) % 2) for one in range(100) for two in range(100)
    }
    said = instance_indexes.written(widths, mapped=True)
    held = TaskStatus(name="parts", state=TaskState.RUNNING, instances=said)
    assert len(instance_indexes.stored(held, 2, mapped=True)) == 10_000
    assert ArgumentSource(task="parts", field="results", paths=said).paths == said


def test_indexes_that_stand_alike_share_what_is_known_of_them() -> None:
    held = TaskStatus(name="list", state=TaskState.RUNNING, instances="0-9999", made="0-4999")
    found = instance_indexes.stored(held, 1, mapped=False)
    assert (len(found), len({id(one) for one in found.values()})) == (10_000, 2)
