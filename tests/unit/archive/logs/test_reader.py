"""Reading one log: what is stored, and what is reported if it cannot be read."""

import hashlib
import random
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest
from obstore.store import LocalStore
from torpor_archive.logs.logged_pod import LoggedPod
from torpor_archive.logs.objects import PART, LogBucket, ObjectsError, ObjectWriter
from torpor_archive.logs.reader import PodLogReader
from torpor_archive.storage.log_entry import LogState
from torpor_archive.storage.log_store import FinishedLog
from torpor_archive.storage.log_text import decompress
from torpor_kubernetes.client import errors

from tests.support.fake_api import VirtualClock
from tests.unit.archive.logs.test_logged_pod import DELETED, RUNNING, WAITING, pod, terminated

ENDED = pod(terminated(1), phase="Failed")
CREATING = pod({"waiting": {"reason": "ContainerCreating"}}, phase="Pending", **DELETED)
UNKNOWN = {"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown"}}
VANISHED = pod(UNKNOWN, phase="Failed", **DELETED)
NOT_STARTED = errors.ApiError("container main is waiting to start", status=400)
LINE = b"2026-01-01T00:00:02.5Z hello\n"


class QuickClock(VirtualClock):
    """A clock whose sleeps end at once."""

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0


class ScriptedNode:
    """Answers with each of these in turn: bytes, then perhaps an error."""

    def __init__(self, *answers: tuple[bytes, errors.ApiError | None]) -> None:
        self.answers = list(answers)
        self.queries: list[Mapping[str, str]] = []
        self.path = ""

    async def chunks(self, path: str, *, query: Mapping[str, str], seconds: float) -> AsyncGenerator[bytes, None]:
        assert seconds > 0
        self.path = path
        self.queries.append(query)
        data, error = self.answers.pop(0)
        for start in range(0, len(data), 100_000):
            yield data[start : start + 100_000]
        if error is not None:
            raise error


def text(finished: FinishedLog) -> bytes:
    return b"".join(map(decompress, finished.text.chunks))


async def read(
    node: ScriptedNode, of: LoggedPod = ENDED, objects: LogBucket | None = None, latest: LoggedPod = ENDED
) -> FinishedLog:
    reader = PodLogReader(node, QuickClock(), objects)
    return await reader.read(of, of.source(), lambda: latest)


async def test_the_log_of_an_ended_pod() -> None:
    node = ScriptedNode((LINE * 2, None))
    finished = await read(node)
    assert text(finished) == LINE * 2
    assert finished.outcome.state is LogState.KEPT
    assert (finished.outcome.reason, finished.outcome.message) == ("Error", "exit code 1")
    assert finished.outcome.size == len(LINE) * 2
    assert node.path == "/api/v1/namespaces/team/pods/run-load-a2-s1-l3/log"
    assert node.queries[0]["timestamps"] == "true"
    assert "follow" not in node.queries[0]


async def test_a_pod_that_is_being_deleted_is_followed() -> None:
    node = ScriptedNode((LINE, None))
    await read(node, pod(RUNNING, **DELETED))
    assert node.queries[0]["follow"] == "true"


async def test_a_followed_log_is_complete_once_the_end_of_its_pod_is_known() -> None:
    running = pod(RUNNING, **DELETED)
    versions = [running, running, ENDED]
    reader = PodLogReader(ScriptedNode((LINE, None)), QuickClock(), None)
    await reader.read(running, running.source(), lambda: versions.pop(0))
    assert versions == []


async def test_a_followed_pod_whose_end_is_never_reported_keeps_its_log() -> None:
    running = pod(RUNNING, **DELETED)
    finished = await read(ScriptedNode((LINE, None)), running, latest=running)
    assert (finished.outcome.state, text(finished)) == (LogState.KEPT, LINE)


@pytest.mark.parametrize("latest", [CREATING, VANISHED])
@pytest.mark.parametrize("refused", [True, False])
async def test_a_container_that_never_started_has_no_log(refused: bool, latest: LoggedPod) -> None:
    node = ScriptedNode((b"", NOT_STARTED)) if refused else ScriptedNode()
    waiting = pod(WAITING, phase="Pending", node="n" if node.answers else "", **DELETED)
    finished = await read(node, waiting, latest=latest)
    assert (finished.outcome.state, finished.outcome.size) == (LogState.KEPT, 0)
    assert finished.outcome.reason == "ImagePullBackOff"


@pytest.mark.parametrize("latest", [pod(RUNNING, **DELETED), pod(terminated(1), phase="Failed", **DELETED)])
async def test_a_container_that_starts_while_its_pod_is_deleted_has_a_log(latest: LoggedPod) -> None:
    node = ScriptedNode((b"", NOT_STARTED), (LINE, None))
    finished = await read(node, CREATING, latest=latest)
    assert text(finished) == LINE
    assert ("follow" in node.queries[1]) is not latest.ended


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (errors.NotFound("gone", status=404), "PodGone"),
        (errors.ApiError("container not found", status=400), "LogUnavailable"),
        (errors.Forbidden("no", status=403), "Forbidden"),
        (errors.ApiUnavailable("dial tcp: no route to host", status=500), "NodeLost"),
        (errors.Unreachable("timeout"), "NodeLost"),
    ],
)
async def test_a_log_that_cannot_be_read_is_lost_with_the_reason(error: errors.ApiError, reason: str) -> None:
    finished = await read(ScriptedNode(*[(b"", error)] * 4))
    assert (finished.outcome.state, finished.outcome.reason) == (LogState.LOST, reason)
    assert finished.outcome.message
    assert finished.outcome.failed


async def test_a_node_that_does_not_answer_is_left_alone_for_a_while() -> None:
    node, clock = ScriptedNode(*[(b"", errors.ApiUnavailable("no route", status=500))] * 2, (LINE, None)), QuickClock()
    reader = PodLogReader(node, clock, None)
    for _ in range(3):
        assert (await reader.read(ENDED, ENDED.source(), lambda: ENDED)).outcome.reason == "NodeLost"
    assert len(node.queries) == 2
    await clock.advance(31)
    assert text(await reader.read(ENDED, ENDED.source(), lambda: ENDED)) == LINE


@pytest.mark.parametrize("status", [0, 429, 503])
async def test_an_api_server_that_does_not_answer_says_nothing_about_the_node(status: int) -> None:
    node = ScriptedNode(*[(b"", errors.ApiUnavailable("try again", status=status))] * 2, (LINE, None))
    reader = PodLogReader(node, QuickClock(), None)
    lost = await reader.read(ENDED, ENDED.source(), lambda: ENDED)
    assert (lost.outcome.reason, "the API server" in lost.outcome.message) == ("NodeLost", True)
    assert text(await reader.read(ENDED, ENDED.source(), lambda: ENDED)) == LINE


async def test_a_failed_request_is_repeated() -> None:
    node = ScriptedNode((LINE, errors.Unreachable("reset")), (LINE * 3, None))
    assert text(await read(node)) == LINE * 3


async def test_what_could_be_read_is_kept() -> None:
    finished = await read(ScriptedNode(*[(LINE, errors.Unreachable("reset"))] * 4))
    assert text(finished) == LINE
    assert (finished.outcome.state, finished.outcome.reason) == (LogState.KEPT, "Incomplete")


async def test_a_sentence_of_the_node_is_no_log() -> None:
    sentence = b"unable to retrieve container logs for containerd://abc"
    finished = await read(ScriptedNode((sentence, None)))
    assert (finished.outcome.state, finished.outcome.reason) == (LogState.LOST, "LogUnavailable")
    assert finished.outcome.message == sentence.decode()


async def test_a_long_log_is_whole_in_the_object_store(tmp_path: Path) -> None:
    log = b"".join(b"2026-01-01T00:00:02Z line %07d\n" % number for number in range(80_000))
    objects = LogBucket(LocalStore(tmp_path))
    finished = await read(ScriptedNode((log, None)), objects=objects)
    assert (finished.object_name, finished.text.chunks) == ("team/w/u.zst", ())
    assert (finished.outcome.size, finished.outcome.omitted) == (len(log), 0)
    assert b"".join([part async for part in objects.read("team/w/u.zst")]) == log
    await objects.delete(["team/w/u.zst", "team/w/u.zst"])
    with pytest.raises(ObjectsError):
        await anext(objects.read("team/w/u.zst"))


async def test_the_upload_of_a_read_that_fails_is_aborted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    aborted: list[str] = []

    async def abort(writer: ObjectWriter) -> None:
        await real(writer)
        aborted.append(writer.name)

    real = ObjectWriter.abort
    monkeypatch.setattr(ObjectWriter, "abort", abort)
    log = b"".join(b"2026-01-01T00:00:02Z line %07d\n" % number for number in range(80_000))
    reset = errors.Unreachable("reset")
    finished = await read(ScriptedNode((log, reset), (LINE, None)), objects=LogBucket(LocalStore(tmp_path)))
    assert text(finished) == LINE
    assert aborted == ["team/w/u.zst"]


async def test_an_upload_that_is_aborted_leaves_nothing(tmp_path: Path) -> None:
    writer = LogBucket(LocalStore(tmp_path)).write(ENDED.source())
    while not _files(tmp_path):
        await writer.write(random.randbytes(PART))
    await writer.abort()
    assert _files(tmp_path) == []
    with pytest.raises(ObjectsError):
        await writer.finish()


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_a_short_log_needs_no_object(tmp_path: Path) -> None:
    finished = await read(ScriptedNode((LINE, None)), objects=LogBucket(LocalStore(tmp_path)))
    assert (finished.object_name, text(finished)) == ("", LINE)


async def test_without_the_object_store_the_start_and_the_end_are_kept(tmp_path: Path) -> None:
    (tmp_path / "team").write_text("a file where the folder would be")
    log = b"".join(b"2026-01-01T00:00:02Z line %07d\n" % number for number in range(80_000))
    finished = await read(ScriptedNode((log, None)), objects=LogBucket(LocalStore(tmp_path)))
    assert finished.object_name == ""
    kept = text(finished)
    assert kept.startswith(log[:1000])
    assert kept.endswith(log[-1000:])
    assert finished.outcome.omitted > 0
    assert b"\n... %d bytes omitted ...\n" % finished.outcome.omitted in kept


async def test_a_log_that_compresses_well_is_read_in_bounded_pieces(tmp_path: Path) -> None:
    objects = LogBucket(LocalStore(tmp_path))
    writer = objects.write(ENDED.source())
    for _ in range(64):
        await writer.write(b"a" * 1024**2)
    await writer.finish()
    pieces = [len(piece) async for piece in objects.read(writer.name)]
    assert sum(pieces) == 64 * 1024**2
    assert max(pieces) <= 8 * 1024**2


@pytest.mark.attack
async def test_logs_in_the_object_store_count_for_the_quota_of_the_namespace(tmp_path: Path) -> None:
    digests = (hashlib.sha256(b"%d" % number).hexdigest() for number in range(40_000))
    log = b"".join(f"2026-01-01T00:00:02Z {digest}\n".encode() for digest in digests)
    charges: list[int] = []
    source, objects = ENDED.source(), LogBucket(LocalStore(tmp_path))

    def charge(size: int) -> bool:
        charges.append(size)
        return sum(charges) <= limit

    limit = 10**9
    reader = PodLogReader(ScriptedNode((log, None)), QuickClock(), objects)
    whole = await reader.read(ENDED, source, lambda: ENDED, charge)
    assert 0 < whole.stored == whole.object_size < len(log)
    assert (max(charges) > 0, sum(charges)) == (True, 0)
    await objects.delete([whole.object_name])

    charges.clear()
    limit = whole.object_size // 2
    reader = PodLogReader(ScriptedNode((log, None)), QuickClock(), objects)
    part = await reader.read(ENDED, source, lambda: ENDED, charge)
    assert (part.object_name, part.outcome.omitted > 0, sum(charges)) == ("", True, 0)
    assert part.stored == part.text.stored < limit
    with pytest.raises(ObjectsError):
        await anext(objects.read(whole.object_name))
