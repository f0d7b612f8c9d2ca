"""Events: said once, and within the API server's limits."""

from torpor_kubernetes.client import events
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import EVENTS, WORKFLOWS

from tests.support.fake_api import FakeApi, VirtualClock

ABOUT = events.reference(WORKFLOWS, namespace="ns", name="ingest", uid="u1")


def built(message: str = "it hurts", reason: str = "Failed") -> dict[str, object]:
    return events.build(
        ABOUT, reason=reason, message=message, type="Warning", reporting_controller="torpor.dev/operator", now=1.5
    )


async def test_the_same_event_twice_is_one_and_another_is_another() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    api = Api(fake, clock)
    for body in (built(), built(), built("it hurts more"), built(reason="Stalled")):
        await events.post(api, body)
    assert len(fake.all(EVENTS)) == 3


def test_it_has_what_the_api_requires() -> None:
    body = built()
    assert body["eventTime"] == "1970-01-01T00:00:01.500000Z"
    assert body["action"] == "Failed"
    assert body["reportingInstance"] == "torpor.dev/operator"
    assert body["regarding"] == {
        "apiVersion": "torpor.dev/v1alpha1",
        "kind": "Workflow",
        "namespace": "ns",
        "name": "ingest",
        "uid": "u1",
    }


def test_a_long_message_is_cut_to_1024_bytes_without_breaking_a_character() -> None:
    note = built("ä" * 2000)["note"]
    assert isinstance(note, str)
    assert len(note.encode()) <= 1024
    assert note.endswith("ä ...")
    assert built("a" * 1024)["note"] == "a" * 1024


def test_a_long_name_stays_a_name() -> None:
    about = ABOUT | {"name": "a" * 235 + "." + "b" * 17}
    body = events.build(about, reason="R", message="", type="Normal", reporting_controller="torpor.dev/x", now=0)
    name = body["metadata"]["name"]
    assert len(name) <= 253
    assert ".." not in name
