import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from torpor_cli.cluster import errors
from torpor_cli.cluster.access import Access, Anonymous, ServerEndpoint
from torpor_cli.cluster.api import ApiClient, ObjectSelection
from torpor_cli.cluster.http import HttpClient
from torpor_cli.cluster.resources import WORKFLOWS
from torpor_cli.cluster.watch import Changed, Deleted, ListSnapshot, NothingChanged, Update, merged, watch, watch_all

from tests.unit.cli.cluster.scripted_server import RecordedRequest, ScriptedResponse, scripted_server

_SELECTION = ObjectSelection(resource=WORKFLOWS, namespace="team", fields="metadata.name=x")


def item(version: int, name: str = "x") -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": name, "resourceVersion": str(version)}}


def event(kind: str, version: int) -> dict[str, Any]:
    return {"type": kind, "object": item(version)}


def listing(version: int) -> ScriptedResponse:
    return ScriptedResponse(body={"metadata": {"resourceVersion": str(version)}, "items": [item(version)]})


def shown(update: Update) -> str:
    match update:
        case ListSnapshot(items=items):
            return "listed " + ",".join(each["metadata"]["resourceVersion"] for each in items)
        case Changed(item=item):
            return f"changed {item['metadata']['resourceVersion']}"
        case Deleted(item=item):
            return f"deleted {item['metadata']['resourceVersion']}"


def followed(answers: list[ScriptedResponse], number: int) -> tuple[list[str], list[RecordedRequest], list[str]]:
    """The first updates of a watch whose server gives these answers; its requests; what is printed for the user."""
    remaining, notes = iter(answers), list[str]()
    with scripted_server(lambda _: next(remaining)) as server:
        api = ApiClient(HttpClient(Access(server=ServerEndpoint(url=server.url), login=Anonymous())))
        updates = watch(api, _SELECTION, pause=lambda _: None, noted=notes.append)
        first_updates = [shown(update) for update in islice(updates, number)]
    return first_updates, server.requests, notes


def test_a_watch_lists_first_and_goes_on_from_there() -> None:
    updates, requests, _ = followed(
        [listing(5), ScriptedResponse(lines=(event("MODIFIED", 6), event("DELETED", 7)))], 3
    )
    assert updates == ["listed 5", "changed 6", "deleted 7"]
    assert requests[1].query["resourceVersion"] == ["5"]
    assert requests[1].query["fieldSelector"] == ["metadata.name=x"]


def test_a_watch_that_ends_goes_on_from_its_last_change_or_bookmark() -> None:
    answers = [
        listing(5),
        ScriptedResponse(lines=(event("MODIFIED", 6),)),
        ScriptedResponse(lines=(event("BOOKMARK", 9),)),
        ScriptedResponse(lines=(event("MODIFIED", 10),)),
    ]
    updates, requests, notes = followed(answers, 3)
    assert updates == ["listed 5", "changed 6", "changed 10"]
    assert [request.query["resourceVersion"][0] for request in requests[1:]] == ["5", "6", "9"]
    assert notes == []


@pytest.mark.parametrize(
    "gone",
    [
        ScriptedResponse(
            lines=({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "old"}},)
        ),
        ScriptedResponse(status=410, body={"kind": "Status", "code": 410, "reason": "Expired", "message": "old"}),
    ],
    ids=["event", "response"],
)
def test_after_410_a_watch_lists_again(gone: ScriptedResponse) -> None:
    updates, _, notes = followed([listing(5), gone, listing(50), ScriptedResponse(lines=(event("MODIFIED", 51),))], 3)
    assert updates == ["listed 5", "listed 50", "changed 51"]
    assert notes == []


def test_a_failing_server_is_asked_again_and_the_user_is_notified_once() -> None:
    failure = ScriptedResponse(status=503, body={"kind": "Status", "message": "starting"})
    updates, _, notes = followed([listing(5), failure, failure, ScriptedResponse(lines=(event("MODIFIED", 6),))], 2)
    assert updates == ["listed 5", "changed 6"]
    assert notes == ["starting; trying again"]


def test_a_line_that_the_connection_cut_is_dropped() -> None:
    updates, _, _ = followed(
        [listing(5), ScriptedResponse(lines=("cut",)), ScriptedResponse(lines=(event("MODIFIED", 6),))], 2
    )
    assert updates == ["listed 5", "changed 6"]


def test_a_user_who_may_not_watch_gets_the_error() -> None:
    with pytest.raises(errors.ForbiddenError):
        followed([listing(5), ScriptedResponse(status=403, body={"kind": "Status", "message": "no"})], 2)


def test_several_watches_are_one_stream_that_ends_with_the_last() -> None:
    assert sorted(each for each in merged([iter([1, 2]), iter([3])]) if not isinstance(each, NothingChanged)) == [
        1,
        2,
        3,
    ]


def test_an_error_of_one_watch_is_the_consumers() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise errors.ForbiddenError("no")

    with pytest.raises(errors.ForbiddenError, match="no"):
        list(merged([broken()]))


def test_a_stream_that_was_closed_notes_no_failure() -> None:
    closed, retried = threading.Event(), threading.Event()
    notes: list[str] = []

    def respond(_: RecordedRequest) -> ScriptedResponse:
        if len(server.requests) == 1:
            return listing(5)
        if len(server.requests) > 2:
            retried.set()
        assert closed.wait(60)
        return ScriptedResponse(status=503, body={"kind": "Status", "message": "stopping"})

    with scripted_server(respond) as server:
        api = ApiClient(HttpClient(Access(server=ServerEndpoint(url=server.url), login=Anonymous())))
        updates = watch_all(api, [_SELECTION], noted=notes.append)
        assert isinstance(next(iter(updates)), ListSnapshot)
        updates.close()
        closed.set()
        assert retried.wait(60)
    assert notes == []
