"""Replicas of a pool: one key pair for all of them, and what was sealed with it reaches the trigger alone."""

import base64
import json
from typing import Any

import pytest
from torpor import sealing
from torpor.sealing import SealScope
from torpor.triggers.support.secret_refs import Revealed
from torpor_kubernetes.client.resources import CONFIG_MAPS, EVENTS, SECRETS, TASKRUNS
from torpor_wire import constants

from tests.support.fake_api import Fault
from tests.support.triggerer_world import NAMESPACE, World, begun, world

SECRET = "hunter2-hunter2"
SYSTEM = "torpor-system"
NAME = "torpor-seal-default"


def public(made: World) -> str:
    found = made.fake.get(CONFIG_MAPS, SYSTEM, NAME)
    assert found is not None
    assert found["metadata"]["labels"] == {constants.LABEL_POOL: "default"}
    return str(found["data"][constants.SEAL_DATA])


def private(made: World) -> str:
    found = made.fake.get(SECRETS, SYSTEM, NAME)
    assert found is not None
    return base64.b64decode(found["data"]["privateKey"]).decode()


USE = SealScope(NAMESPACE, "odd", "encrypted__x")


def sealed(made: World, value: Any = SECRET, **use: str) -> str:
    return sealing.seal(value, public(made), USE._replace(**use))


async def test_whoever_is_first_makes_the_pair_and_publishes_its_public_half() -> None:
    async with world(sealing=True, latency=0.05) as made:
        await made.start("one")
        await made.start("two")
        await made.pass_time(2)
        tries = [one for one in made.fake.writes() if one.path.endswith(NAME)]
        assert len([one for one in tries if "/secrets/" in one.path]) == 2
        assert not [one for one in tries if one.method == "POST"]
        assert made.said.getvalue().count("Created the key pair") == 1
        assert sealing.unseal(sealed(made), private(made), USE) == SECRET


async def test_a_restart_keeps_the_pair() -> None:
    async with world(sealing=True) as made:
        await made.start()
        before = private(made)
        await made.stop()
        await made.start()
        assert private(made) == before


async def test_a_changed_public_key_is_restored_by_the_next_replica_that_starts() -> None:
    async with world(sealing=True) as made:
        await made.start("one")
        right = public(made)
        made.fake.edit(CONFIG_MAPS, SYSTEM, NAME, {"data": {constants.SEAL_DATA: "x"}})
        await made.start("two")
        assert public(made) == right


async def test_an_unanswered_or_forbidden_request_is_retried_with_backoff() -> None:
    async with world(sealing=True) as made:
        made.fake.inject(Fault(status=403, path="/secrets", message="no such right", times=4))
        await made.start()
        await made.pass_time(16)
        assert public(made)
        assert made.said.getvalue().count("Failed to set up the key pair of pool default; retrying: no such right") == 4


async def test_the_class_gets_what_was_sealed_under_the_name_without_the_prefix() -> None:
    async with world(sealing=True) as made:
        await made.start()
        kwargs = {
            "name": "a",
            "encrypted__x": sealed(made),
            "deep": [{"encrypted__y": sealed(made, {"n": [1, "p"]}, argument="deep/0/encrypted__y")}],
        }
        made.taskrun("a", kwargs=kwargs)
        await made.rest()
        assert made.given == [{"name": "a", "x": SECRET, "deep": [{"y": {"n": [1, "p"]}}]}]
        assert isinstance(made.given[0]["x"], Revealed)
        assert made.called("a") == ["run"]


@pytest.mark.parametrize(
    ("box", "words"),
    [
        (lambda made: sealed(made, namespace="another"), "encrypted__x: it was sealed in another namespace"),
        (lambda made: sealed(made, class_name="another"), "encrypted__x: it was sealed for another class"),
        (lambda made: sealed(made, argument="encrypted__y"), "encrypted__x: it was sealed as another argument"),
        (lambda _: sealing.seal(SECRET, sealing.new_pair().public, USE), "defer again"),
        (lambda _: SECRET, "is not a sealed value"),
        (lambda made: sealed(made)[:-8] + "AAAAAAA=", "cannot be opened"),
    ],
)
async def test_a_sealed_value_that_cannot_be_opened_fails_with_a_retry(box: Any, words: str) -> None:
    async with world(sealing=True) as made:
        await made.start()
        spec = {"python": "m:f", "retries": {"limit": 1}}
        made.taskrun("a", kwargs={"name": "a", "encrypted__x": box(made)}, spec=spec)
        await made.rest()
        assert made.stands("a") == ("UpForRetry", "SealInvalid")
        assert words in made.status("a")["message"]


async def test_a_pair_that_was_replaced_is_read_again() -> None:
    async with world(sealing=True) as made:
        await made.start()
        pair = sealing.new_pair()
        encoded = {name: base64.b64encode(text.encode()).decode() for name, text in pair._asdict().items()}
        data = {"privateKey": encoded["private"], "publicKey": encoded["public"]}
        made.fake.edit(SECRETS, SYSTEM, NAME, {"data": data})
        await made.pass_time(11)
        made.taskrun("a", kwargs={"name": "a", "encrypted__x": sealing.seal(SECRET, pair.public, USE)})
        await made.rest()
        assert made.called("a") == ["run"]


@pytest.mark.parametrize("does", ["shows what it was given and fires", "shows what it was given and raises"])
async def test_what_was_sealed_is_nowhere_to_be_seen(does: str) -> None:
    async with world(sealing=True) as made:
        await made.start()
        box = sealed(made, {"password": SECRET, "pin": 987654})
        made.taskrun("a", kwargs={"does": does, "name": "a", "encrypted__x": box})
        await made.pass_time(1)
        assert made.stands("a")[0] in {"Scheduled", "Failed"}
        stands = [*made.fake.all(TASKRUNS), *made.fake.all(EVENTS), *made.fake.all(CONFIG_MAPS)]
        written = [one.body for one in made.fake.writes()]
        shown = made.said.getvalue() + json.dumps(stands) + json.dumps(written)
        assert "hunter2" not in shown
        assert "987654" not in shown.replace(json.dumps(made.status("a").get("event")), "")
        assert private(made) not in made.said.getvalue() + json.dumps(stands)


async def test_without_keys_nothing_sealed_is_opened() -> None:
    async with world() as made:
        await begun(made, "a", kwargs={"name": "a", "encrypted__x": "sealed:0:0"})
        assert made.stands("a") == ("Failed", "SealInvalid")
