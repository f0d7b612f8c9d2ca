"""Results that are read back from the archive: as what they were, item by item, over connections that break."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from torpor.runtime import status_patch
from torpor.runtime.archive import download
from torpor_wire import typed_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from torpor.runtime.archive.client import ArchiveConnection

    from tests.support.fake_archive import FakeArchive
    from tests.unit.worker.conftest import TaskPod, TaskRunApi

ROWS = b"".join(b'{"n":%d,"s":"\\u00fc"}\n' % n for n in range(1000))
TOLD = "def load(value): return [type(value).__name__, len(value), "
VALUES: dict[str, tuple[str, bytes, str, list[Any]]] = {
    "a list": ("list", ROWS, "value[-1]", ["list", 1000, {"n": 999, "s": "ü"}]),
    "a list whose last line has no end": ("list", ROWS[:-1] + b"\n1", "value[-1]", ["list", 1001, 1]),
    "an object": ("object", b'["z",1]\n["a",[2]]\n', "[*value.items()]", ["dict", 2, [["z", 1], ["a", [2]]]]),
    "a string": ("string", b'"' + b"x" * 9000 + b'"', "value[:1]", ["str", 9000, "x"]),
    "bytes": ("bytes", b"\x00\xff" * 9000, "value[:2].hex()", ["bytes", 18_000, "00ff"]),
}


@pytest.mark.parametrize("case", VALUES)
def test_a_result_comes_back_as_what_it_was(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], archive: FakeArchive, case: str
) -> None:
    kind, body, shown, expected = VALUES[case]
    about = archive.keep(kind, body)
    if kind == "list":
        about["length"] = len(body.splitlines())
    upstream(None, stored=about)
    pod = referring("result", source=f"{TOLD}{shown}]")

    assert pod.run() == 0, pod.status
    assert json.loads(pod.status["result"]) == expected
    assert archive.requests == [f"GET /v1/namespaces/default/results/uid--1/{about['digest']}"]
    assert archive.headers[0]["Torpor-TaskRun"] == pod.name


@pytest.mark.parametrize(
    ("given", "kept"), [("brød.csv", "brød.csv"), ("../../etc/passwd", "passwd"), ("..", "file"), (None, "file")]
)
def test_a_file_is_restored_in_its_own_folder_under_any_name(
    referring: Callable[..., TaskPod],
    upstream: Callable[..., None],
    archive: FakeArchive,
    given: str | None,
    kept: str,
) -> None:
    upstream(None, stored=archive.keep("file", b"a;b", given))
    pod = referring(
        "result", source="def load(value): return [value.name, value.read_text(), len([*value.parent.iterdir()])]"
    )

    assert pod.run() == 0, pod.status
    assert json.loads(pod.status["result"]) == [kept, "a;b", 1]


@pytest.mark.parametrize("kind", ["list", "bytes", "file"])
def test_an_answer_that_breaks_off_is_taken_up_again(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], archive: FakeArchive, kind: str
) -> None:
    upstream(None, stored=archive.keep(kind, ROWS))
    archive.faults = [0, 503, 0]
    size = "value.stat().st_size" if kind == "file" else "len(value)"
    pod = referring("result", source=f"def load(value): return {size}")

    assert pod.run() == 0, pod.status
    assert json.loads(pod.status["result"]) == (1000 if kind == "list" else len(ROWS))
    assert len(archive.requests) == 4
    assert ("?item=" in archive.requests[1]) == (kind == "list")


def test_a_body_that_differs_from_its_taskrun_is_not_passed_on(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], archive: FakeArchive
) -> None:
    about = archive.keep("list", ROWS)
    archive.bodies[about["digest"]] = ROWS.replace(b"7", b"8")
    upstream(None, stored=about)
    pod = referring("result")

    assert pod.run() == 1
    assert pod.cluster.begun == 0
    assert "a body with digest" in pod.status["message"]


def test_a_forbidden_body_fails_the_attempt_with_the_archives_message(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], archive: FakeArchive
) -> None:
    upstream(None, stored=archive.keep("list", ROWS))
    archive.faults, archive.message = [403], "this is another Workflow's"
    pod = referring("result")
    pod.cluster.taskruns[pod.name]["spec"]["retries"] = {"limit": 1}

    assert pod.run() == 1
    assert pod.status["state"] == "UpForRetry"
    assert "the archive does not return the result: HTTP 403: this is another Workflow's" in pod.status["message"]
    assert len(archive.requests) == 1


def test_a_pod_without_the_archives_address_says_so(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], archive: FakeArchive, cluster: TaskRunApi
) -> None:
    upstream(None, stored=archive.keep("list", ROWS))
    cluster.archive = lambda _launch: None
    pod = referring("result")

    assert pod.run() == 1
    assert "this pod has no address of an archive" in pod.status["message"]


@pytest.mark.parametrize("kind", ["list", "object"])
def test_one_item_is_one_read(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], archive: FakeArchive, kind: str
) -> None:
    upstream(None, index=3, stored=archive.keep(kind, b'["z",1]\n["a",[2]]\n'))
    pod = referring("result", index=3, item=1)

    assert pod.run() == 0, pod.status
    assert pod.status["result"] == '["a",[2]]'
    assert [request.rpartition("?")[2] for request in archive.requests] == ["item=1"]


def test_an_item_that_is_not_there_is_named_with_the_length(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], archive: FakeArchive
) -> None:
    upstream(None, stored=archive.keep("list", ROWS))
    pod = referring("result", item=1000)

    assert pod.run() == 1
    assert pod.status["reason"] == "ArgumentsInvalid"
    assert pod.status["message"] == "the result of task 'list' has 1000 items, so there is no item 1000"


def test_bytes_have_no_items_and_are_not_fetched_to_say_so(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], archive: FakeArchive
) -> None:
    upstream(None, stored=archive.keep("bytes", ROWS))
    pod = referring("result", item=0)

    assert pod.run() == 1
    assert pod.status["message"] == "task 'list' returned a value of type bytes, not a list or an object"
    assert not archive.requests


def test_a_child_of_the_process_has_a_connection_of_its_own(
    archive: FakeArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    about, client = archive.keep("bytes", b"x"), archive.client()
    for _ in range(2):
        assert read(client, about) == b"x"
        monkeypatch.setattr("os.getpid", lambda: -1)
    client.close()

    assert archive.connections == 2


def test_what_was_not_read_to_its_end_is_not_read_by_the_next_request(archive: FakeArchive) -> None:
    about, client = archive.keep("bytes", b"x" * 200_000), archive.client()
    with client.get("uid", about["digest"]) as pieces:
        next(iter(pieces))

    assert read(client, about) == b"x" * 200_000
    client.close()


def read(client: ArchiveConnection, about: dict[str, Any]) -> object:
    retry_policy = status_patch.RetryPolicy(0, frozenset(), time.monotonic, time.sleep, lambda: 0.5)
    return download.value(client, download.ArchivedBody("uid", about), retry_policy)


LARGE = {"rows": ("x" * 9000, {"a"}), "at": datetime(2026, 1, 1, tzinfo=UTC)}
WAITING = """
from torpor import defer
from torpor.triggers import Duration
from tests.unit.worker.runtime.test_download import LARGE
def load(): return defer(Duration(1), then=end, n=1)
def end(event, n): return event == LARGE
"""


def test_an_event_in_the_archive_is_read_before_the_task_goes_on(
    task: Callable[..., TaskPod], archive: FakeArchive
) -> None:
    about = archive.keep("bytes", typed_json.text(LARGE).encode())
    pod = task(WAITING)
    pod.run()
    pod.fire(json.loads(typed_json.archived_event(about)))

    assert pod.run() == 0
    assert pod.status["result"] == "true"
    assert archive.requests == [f"GET /v1/namespaces/default/results/taskrun-uid.event/{about['digest']}"]


def test_an_event_that_the_archive_does_not_give_fails_the_attempt(
    task: Callable[..., TaskPod], archive: FakeArchive
) -> None:
    pod = task(WAITING, spec={"retries": {"limit": 1}})
    pod.run()
    pod.fire(json.loads(typed_json.archived_event({"size": 9000, "digest": "0" * 64})))
    pod.run()

    assert pod.status["state"] == "UpForRetry"


def test_no_event_is_taken_for_one_in_the_archive(task: Callable[..., TaskPod], archive: FakeArchive) -> None:
    like = {"__type": "stored", "__var": {"size": 1, "digest": "0"}}
    pod = task(WAITING.replace("event == LARGE", "event"))
    pod.run()
    pod.fire(typed_json.encode(like))

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == like
    assert archive.requests == []
