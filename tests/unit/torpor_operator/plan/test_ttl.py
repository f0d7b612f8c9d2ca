"""A finished run that has been kept for its time, where there is an archive."""

from torpor_wire import constants
from torpor_wire.archive_endpoint import ArchiveEndpoint

from tests.support.builders import container, python
from tests.support.plan_world import World

SEAT = ArchiveEndpoint(url="https://archive:8443", certificate="PEM")


def finished() -> World:
    world = World(python("a"), ttlAfterFinished="1h")
    world.api.archive = SEAT
    world.settle().succeed("a")
    world.now += 3601
    return world


def test_it_goes_once_the_archive_has_it() -> None:
    world = finished().settle()
    assert world.api.deleted
    assert [type(need).__name__ for need in world.api.confirmed][-1] == "ArchiveRun"


def test_it_stays_while_the_archive_does_not_take_it_and_says_so() -> None:
    world = finished()
    world.api.archive_trouble = "the archive answers 503: DatabaseUnavailable"
    world.settle()
    assert not world.api.deleted
    said = next(one for one in world.status.conditions if one.type == "Archived")
    assert (said.status, said.reason) == ("False", "ArchiveUnavailable")
    assert said.message == "the archive answers 503: DatabaseUnavailable"
    assert world.status.state == "Succeeded"
    assert world.plan().again_at == world.now + 30
    world.api.archive_trouble = ""
    assert world.settle().api.deleted


def test_without_an_archive_it_goes_when_its_time_is_over() -> None:
    world = finished()
    world.api.archive = None
    world.settle()
    assert world.api.deleted
    assert not any(type(need).__name__ == "ArchiveRun" for need in world.api.confirmed)


def pod(world: World, task: str) -> dict[str, object]:
    return next(body["spec"] for name, body in world.pods.items() if world.run(task).metadata.name in name)


def test_a_python_task_is_told_where_the_archive_is_and_gets_a_token_for_it_alone() -> None:
    world = World(python("a"), container("b"))
    world.api.archive = SEAT
    world.settle()
    spec = pod(world, "a")
    env = {one["name"]: one.get("value") for one in spec["containers"][0]["env"]}  # type: ignore[index]
    assert (env[constants.ENV_ARCHIVE_URL], env[constants.ENV_ARCHIVE_CA]) == ("https://archive:8443", "PEM")
    (sources,) = (one["projected"]["sources"] for one in spec["volumes"] if "projected" in one)  # type: ignore[attr-defined]
    audiences = [one["serviceAccountToken"].get("audience") for one in sources if "serviceAccountToken" in one]
    assert audiences == [None, constants.ARCHIVE_AUDIENCE]
    assert "projected" not in str(pod(world, "b"))


def test_where_there_is_no_archive_a_pod_gets_one_token() -> None:
    spec = str(pod(World(python("a")).settle(), "a"))
    assert spec.count("serviceAccountToken") == 1
    assert constants.ENV_ARCHIVE_URL not in spec
