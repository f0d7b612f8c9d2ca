"""Replicas of a pool: one key pair for all of them, and what was sealed with it reaches the trigger alone."""

import base64
import json
from typing import Any

import pytest
from torpor import sealing
from torpor.sealing import SealScope
from torpor.triggers.support.arguments import Revealed
from torpor_kubernetes.client.resources import CONFIG_MAPS, EVENTS, SECRETS, TASKRUNS
from torpor_wire import constants

from tests.support.fake_api import Fault
from tests.support.triggerer_fixture import NAMESPACE, TriggererFixture, start_with_wait, triggerer_fixture

SECRET = "hunter2-hunter2"
SYSTEM = "torpor-system"
NAME = "torpor-seal-default"


def public(world: TriggererFixture) -> str:
    body = world.fake.get(CONFIG_MAPS, SYSTEM, NAME)
    assert body is not None
    assert body["metadata"]["labels"] == {constants.LABEL_POOL: "default"}
    return str(body["data"][constants.SEAL_DATA])


def private(world: TriggererFixture) -> str:
    body = world.fake.get(SECRETS, SYSTEM, NAME)
    assert body is not None
    return base64.b64decode(body["data"]["privateKey"]).decode()


USE = SealScope(NAMESPACE, "odd", "encrypted__x")


def sealed(world: TriggererFixture, value: Any = SECRET, **use: str) -> str:
    return sealing.seal(value, public(world), USE._replace(**use))


async def test_the_first_replica_creates_the_pair_and_publishes_its_public_key() -> None:
    async with triggerer_fixture(sealing=True, latency=0.05) as world:
        await world.start("one")
        await world.start("two")
        await world.pass_time(2)
        tries = [write for write in world.fake.writes() if write.path.endswith(NAME)]
        assert len([request for request in tries if "/secrets/" in request.path]) == 2
        assert not [request for request in tries if request.method == "POST"]
        assert world.log_output.getvalue().count("Created the key pair") == 1
        assert sealing.unseal(sealed(world), private(world), USE) == SECRET


async def test_a_restart_keeps_the_pair() -> None:
    async with triggerer_fixture(sealing=True) as world:
        await world.start()
        before = private(world)
        await world.stop()
        await world.start()
        assert private(world) == before


async def test_a_changed_public_key_is_restored_by_the_next_replica_that_starts() -> None:
    async with triggerer_fixture(sealing=True) as world:
        await world.start("one")
        right = public(world)
        world.fake.edit(CONFIG_MAPS, SYSTEM, NAME, {"data": {constants.SEAL_DATA: "x"}})
        await world.start("two")
        assert public(world) == right


async def test_an_unanswered_or_forbidden_request_is_retried_with_backoff() -> None:
    async with triggerer_fixture(sealing=True) as world:
        world.fake.inject(Fault(status=403, path="/secrets", message="no such right", times=4))
        await world.start()
        await world.pass_time(16)
        assert public(world)
        assert (
            world.log_output.getvalue().count("Failed to set up the key pair of pool default; retrying: no such right")
            == 4
        )


async def test_the_class_gets_what_was_sealed_under_the_name_without_the_prefix() -> None:
    async with triggerer_fixture(sealing=True) as world:
        await world.start()
        kwargs = {
            "name": "a",
            "encrypted__x": sealed(world),
            "deep": [{"encrypted__y": sealed(world, {"n": [1, "p"]}, argument="deep/0/encrypted__y")}],
        }
        world.taskrun("a", kwargs=kwargs)
        await world.settle()
        assert world.trigger_kwargs == [{"name": "a", "x": SECRET, "deep": [{"y": {"n": [1, "p"]}}]}]
        assert isinstance(world.trigger_kwargs[0]["x"], Revealed)
        assert world.called("a") == ["run"]


@pytest.mark.parametrize(
    ("box", "words"),
    [
        (lambda world: sealed(world, namespace="another"), "encrypted__x: it was sealed in another namespace"),
        (lambda world: sealed(world, class_name="another"), "encrypted__x: it was sealed for another class"),
        (lambda world: sealed(world, argument="encrypted__y"), "encrypted__x: it was sealed as another argument"),
        (lambda _: sealing.seal(SECRET, sealing.new_pair().public, USE), "defer again"),
        (lambda _: SECRET, "is not a sealed value"),
        (lambda world: sealed(world)[:-8] + "AAAAAAA=", "cannot be opened"),
    ],
)
async def test_a_sealed_value_that_cannot_be_opened_fails_with_a_retry(box: Any, words: str) -> None:
    async with triggerer_fixture(sealing=True) as world:
        await world.start()
        spec = {"python": "m:f", "retries": {"limit": 1}}
        world.taskrun("a", kwargs={"name": "a", "encrypted__x": box(world)}, spec=spec)
        await world.settle()
        assert world.state_and_reason("a") == ("UpForRetry", "SealInvalid")
        assert words in world.status("a")["message"]


async def test_a_pair_that_was_replaced_is_read_again() -> None:
    async with triggerer_fixture(sealing=True) as world:
        await world.start()
        pair = sealing.new_pair()
        encoded = {name: base64.b64encode(text.encode()).decode() for name, text in pair._asdict().items()}
        data = {"privateKey": encoded["private"], "publicKey": encoded["public"]}
        world.fake.edit(SECRETS, SYSTEM, NAME, {"data": data})
        await world.pass_time(11)
        world.taskrun("a", kwargs={"name": "a", "encrypted__x": sealing.seal(SECRET, pair.public, USE)})
        await world.settle()
        assert world.called("a") == ["run"]


@pytest.mark.parametrize("does", ["shows what it was given and fires", "shows what it was given and raises"])
async def test_what_was_sealed_is_nowhere_to_be_seen(does: str) -> None:
    async with triggerer_fixture(sealing=True) as world:
        await world.start()
        box = sealed(world, {"password": SECRET, "pin": 987654})
        world.taskrun("a", kwargs={"does": does, "name": "a", "encrypted__x": box})
        await world.pass_time(1)
        assert world.state_and_reason("a")[0] in {"Scheduled", "Failed"}
        objects = [*world.fake.all(TASKRUNS), *world.fake.all(EVENTS), *world.fake.all(CONFIG_MAPS)]
        written = [write.body for write in world.fake.writes()]
        shown = world.log_output.getvalue() + json.dumps(objects) + json.dumps(written)
        assert "hunter2" not in shown
        assert "987654" not in shown.replace(json.dumps(world.status("a").get("event")), "")
        assert private(world) not in world.log_output.getvalue() + json.dumps(objects)


async def test_without_keys_nothing_sealed_is_opened() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"name": "a", "encrypted__x": "sealed:0:0"})
        assert world.state_and_reason("a") == ("Failed", "SealInvalid")
