"""Events that are too large for their TaskRun: they go to the archive, or say their size and why they do not."""

import json

import pytest
from torpor_wire import typed_json
from torpor_wire.secret_ref import SecretRef

from tests.support.triggerer_fixture import start_with_wait, triggerer_fixture
from tests.support.triggers.bad_triggers import YIELDED

LARGE = "yields 16 kB"
WAIT = {"trigger": {"class": "odd"}}


async def test_an_event_of_more_than_4_kb_goes_to_the_archive_and_keeps_its_types() -> None:
    async with triggerer_fixture() as world:
        world.install_archive()
        await start_with_wait(world, "a", kwargs={"does": LARGE})
        status = world.status("a")
        about = typed_json.description_of_event(json.loads(status["event"]))
        assert status["state"] == "Scheduled"
        assert about is not None
        body = world.archive.bodies["/v1/namespaces/workflows/taskruns/a/event", str(about["digest"])]
        assert typed_json.decode(json.loads(body)) == YIELDED[LARGE].payload
        assert about["size"] == len(body)


async def test_the_event_of_a_task_that_is_only_a_wait_goes_there_as_its_result() -> None:
    async with triggerer_fixture() as world:
        world.install_archive()
        await start_with_wait(world, "a", kwargs={"does": LARGE}, spec=WAIT)
        status = world.status("a")
        assert status["state"] == "Succeeded"
        assert "result" not in status
        assert (status["stored"]["type"], status["stored"]["length"]) == ("object", 2)
        (path, _), body = next(iter(world.archive.bodies.items()))
        assert path.endswith("/taskruns/a/event?as=result")
        assert dict(map(json.loads, body.splitlines()))["at"] == "2026-01-01T00:00:00+00:00"


@pytest.mark.parametrize("spec", [WAIT, {"python": "m:f"}])
async def test_an_event_that_ends_its_task_goes_there_as_its_result(spec: dict[str, object]) -> None:
    async with triggerer_fixture() as world:
        world.install_archive()
        await start_with_wait(world, "a", kwargs={"does": "ends well with 16 kB"}, spec=spec)
        status = world.status("a")
        assert (status["state"], status["stored"]["type"]) == ("Succeeded", "object")
        assert "result" not in status
        ((path, _),) = world.archive.bodies
        assert path.endswith("/taskruns/a/event?as=result")


async def test_an_expressions_small_result_of_a_large_event_is_on_the_taskrun() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": LARGE}, spec=WAIT | {"result": "event.rows.size()"})
        assert world.status("a")["result"] == "2"


async def test_a_result_of_a_wait_may_have_8_kb_without_an_archive() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "yields 5 kB"}, spec=WAIT)
        assert world.state_and_reason("a")[0] == "Succeeded"


@pytest.mark.parametrize(
    ("spec", "reason", "limit"), [({"python": "m:f"}, "EventInvalid", "4096"), (WAIT, "ResultInvalid", "8192")]
)
async def test_a_large_event_without_an_archive_fails_and_names_size_and_archive(
    spec: dict[str, object], reason: str, limit: str
) -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": LARGE}, spec=spec)
        message = world.status("a")["message"]
        assert world.state_and_reason("a") == ("Failed", reason)
        assert f"bytes of JSON and {limit} fit, and no archive is installed" in message


async def test_the_event_of_a_container_must_fit_on_its_taskrun() -> None:
    async with triggerer_fixture() as world:
        world.install_archive()
        await start_with_wait(world, "a", kwargs={"does": LARGE}, spec={"container": {}})
        assert world.state_and_reason("a") == ("Failed", "EventInvalid")
        assert "4096 fit into the environment of a container" in world.status("a")["message"]
        assert world.archive.bodies == {}


async def test_a_container_resumes_with_its_event() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "fires"}, spec={"container": {}})
        assert world.status("a")["state"] == "Scheduled"


async def test_an_archive_that_is_briefly_unavailable_is_asked_again() -> None:
    async with triggerer_fixture() as world:
        world.install_archive()
        world.archive.answers = [OSError("connection refused"), (503, {"message": "DatabaseUnavailable"})]
        await start_with_wait(world, "a", kwargs={"does": LARGE})
        assert world.state_and_reason("a")[0] == "Deferred"
        await world.pass_time(4)
        assert world.state_and_reason("a")[0] == "Scheduled"


async def test_an_unavailable_archive_fails_the_attempt_with_its_message() -> None:
    async with triggerer_fixture() as world:
        world.install_archive()
        world.archive.answers = [OSError("connection refused")] * 20
        await start_with_wait(world, "a", kwargs={"does": LARGE}, spec={"python": "m:f", "retries": {"limit": 1}})
        await world.pass_time(70)
        assert world.state_and_reason("a") == ("UpForRetry", "ResultNotStored")
        assert (
            "bytes of JSON and 4096 fit; the archive did not store it: OSError: connection refused"
            in (world.status("a")["message"])
        )


async def test_what_the_archive_refuses_is_not_sent_again() -> None:
    async with triggerer_fixture() as world:
        world.install_archive()
        world.archive.answers = [(403, {"message": "it may not `fire` it"})]
        await start_with_wait(world, "a", kwargs={"does": LARGE})
        assert world.state_and_reason("a") == ("Failed", "ResultNotStored")
        assert world.archive.bodies == {}


async def test_a_secret_does_not_go_to_the_archive_either() -> None:
    async with triggerer_fixture() as world:
        world.install_archive()
        world.secret("db", password="hunter2hunter2")
        world.readers.add(("torpor-task", "db"))
        reference = SecretRef("db", "password").written()
        kwargs = {"does": "shows often what it was given and fires", "token": reference, "pad": "x" * 900}
        await start_with_wait(world, "a", kwargs=kwargs)
        await world.pass_time(1)
        assert len(world.archive.bodies) == 1
        assert "hunter2" not in str(world.archive.bodies) + str(world.status("a"))
