"""A flood of Events in one namespace: how many a real API server stores, and that another namespace has its own."""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from torpor_kubernetes.client import events, http
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import CONFIG_MAPS, EVENTS
from torpor_kubernetes.timing import SystemClock
from torpor_operator.controller.write_limits import WriteLimits
from torpor_operator.settings import Settings

from tests.integration.conftest import Server

BURST = 40


@pytest.fixture
async def api(server: Server, kubeconfig: Path) -> AsyncIterator[Api]:
    """As the administrator."""
    del server
    async with http.connect(str(kubeconfig), program="torpor-tests") as transport:
        yield Api(transport, SystemClock())


def limits(api: Api) -> WriteLimits:
    return WriteLimits.build(
        api,
        Settings(
            apply_concurrency=4,
            namespace_write_rate=400,
            namespace_write_burst=4000,
            namespace_event_rate=0.001,
            namespace_event_burst=BURST,
        ),
    )


def event(api: Api, namespace: str, uid: str, message: str, reason: str = "Flood") -> dict[str, Any]:
    about = events.reference(CONFIG_MAPS, namespace=namespace, name="any", uid=uid)
    return events.build(
        about,
        reason=reason,
        message=message,
        type="Warning",
        reporting_controller="torpor.dev/operator",
        now=api.clock.now(),
    )


async def stored(api: Api, namespace: str) -> Counter[str]:
    """The number of Events by reason, of those that the test posted."""
    items = (await api.list(EVENTS, namespace)).items
    return Counter(item["reason"] for item in items if item["reportingController"] == "torpor.dev/operator")


async def test_an_object_that_floods_has_few_events_and_a_neighbour_has_its_own(
    api: Api, open_namespace: Callable[[], str]
) -> None:
    greedy, quiet = open_namespace(), open_namespace()
    poster = limits(api).events
    for number in range(300):
        await poster.post(event(api, greedy, "one", f"number {number}"))
    for number in range(300):
        await poster.post(event(api, greedy, f"object-{number}", "the same", "Spread"))
    await poster.post(event(api, quiet, "one", "still heard"))
    assert await stored(api, greedy) == {"Flood": 10, "Spread": BURST - 10}
    assert await stored(api, quiet) == {"Flood": 1}
    assert poster.dropped == 600 - BURST


async def test_a_repeated_event_is_one_request(api: Api, open_namespace: Callable[[], str]) -> None:
    namespace = open_namespace()
    poster = limits(api).events
    for _ in range(50):
        await poster.post(event(api, namespace, "one", "the same"))
    assert await stored(api, namespace) == {"Flood": 1}
    assert poster.dropped == 0


async def test_the_longest_note_has_room_for_the_number_of_similar_events(
    api: Api, open_namespace: Callable[[], str]
) -> None:
    namespace = open_namespace()
    body = events.with_similar(event(api, namespace, "one", "ä" * 2000), 123_456_789)
    await events.post(api, body)
    note = (await api.list(EVENTS, namespace)).items[0]["note"]
    assert note.endswith("(123456789 similar Events before it were not posted)")
