"""The lines of ended waits: batched, bounded, redacted, and never in the way of an outcome."""

import asyncio
from dataclasses import replace

import pytest
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import CONFIG_MAPS
from torpor_triggerer.logs.trigger_log import LINES, TriggerLog, WaitLog
from torpor_triggerer.model.deferred_taskrun import SegmentId, TriggerWait
from torpor_triggerer.model.outcome import Failed, Fired, Outcome
from torpor_triggerer.reporting import log_sender
from torpor_triggerer.reporting.log_sender import LogSender
from torpor_wire import retry
from torpor_wire.reason import Reason

from tests.support.fake_api import FakeApi, VirtualClock
from tests.support.triggerer_fixture import UploadArchive

WAIT = TriggerWait(
    namespace="team",
    name="a",
    segment_id=SegmentId("u", 2, 1),
    created="2026-01-01T00:00:00Z",
    pool="default",
    account="torpor-task",
    trigger=None,
    deferred_at=1_767_225_600.0,
    deferred_before=0.0,
    deadline=None,
    deadline_is_attempts=False,
    cancelled=False,
    resumes=True,
    on_timeout=False,
    timeout_is_final=False,
    expressions=None,
    retries=retry.Policy(),
)


class Sending:
    def __init__(self, *, installed: bool = True) -> None:
        self.clock = VirtualClock()
        self.archive = UploadArchive()
        fake = FakeApi(clock=self.clock)
        if installed:
            data = {"url": "https://archive/", "ca.crt": "PEM"}
            metadata = {"name": "torpor-archive", "namespace": "torpor-system"}
            fake.put(CONFIG_MAPS, {"metadata": metadata, "data": data})
        self.sender = LogSender(Api(fake, self.clock), "torpor-system", self.archive)

    def end(self, name: str = "a", *lines: str, outcome: Outcome | None = None, namespace: str = "team") -> None:
        wait = replace(WAIT, name=name, namespace=namespace)
        self.sender.add(wait, outcome or Fired(event="1"), log_of(*lines))

    async def advance(self, seconds: float) -> None:
        running = asyncio.create_task(self.sender.run())
        await self.clock.advance(seconds)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def log_of(*lines: str) -> WaitLog:
    created = TriggerLog().create(WAIT)
    for line in lines:
        created.append(line, 1_767_225_601.5)
    return created


async def test_the_lines_of_a_wait_are_sent_with_their_times() -> None:
    sending = Sending()
    sending.end(
        "a", "2026-01-01 00:00:01,500 INFO my.trigger: looked", outcome=Failed(reason=Reason.ERROR, message="m")
    )
    await sending.advance(1)
    (wait,) = sending.archive.waits
    assert wait | {"ended": ""} == {
        "taskrun": "a",
        "uid": "u",
        "attempt": 2,
        "segment": 1,
        "started": "2026-01-01T00:00:00.000Z",
        "ended": "",
        "failed": True,
        "reason": "Error",
        "lines": [{"at": "2026-01-01T00:00:01.500Z", "text": "INFO my.trigger: looked"}],
        "omitted": 0,
    }
    assert sending.archive.requests == ["/v1/namespaces/team/logs/waits"]


async def test_a_wait_without_lines_sends_nothing() -> None:
    sending = Sending()
    sending.end("a")
    await sending.advance(60)
    assert sending.archive.requests == []


async def test_many_waits_go_in_one_request_for_a_namespace() -> None:
    sending = Sending()
    for number in range(150):
        sending.end(f"a{number}", "x")
    sending.end("b", "x", namespace="other")
    await sending.advance(1)
    assert sending.archive.requests == [*["/v1/namespaces/team/logs/waits"] * 2, "/v1/namespaces/other/logs/waits"]
    assert len(sending.archive.waits) == 151


async def test_secrets_that_became_known_later_are_redacted() -> None:
    sending = Sending()
    wait_log = log_of("the token is s3cret-value")
    wait_log.set_secrets(["s3cret-value"])
    sending.sender.add(WAIT, Fired(event="1"), wait_log)
    await sending.advance(1)
    assert "s3cret" not in str(sending.archive.waits)


async def test_lines_that_were_not_kept_count_as_omitted() -> None:
    sending = Sending()
    sending.end("a", *["12345"] * (LINES + 2))
    await sending.advance(1)
    (wait,) = sending.archive.waits
    assert (len(wait["lines"]), wait["omitted"]) == (LINES, 10)


async def test_an_archive_that_is_away_is_tried_again_and_the_queue_is_bounded() -> None:
    sending = Sending()
    sending.archive.log_answers = [OSError("refused"), 503]
    for number in range(log_sender.QUEUE + 5):
        sending.end(f"a{number}", "x")
    assert sending.sender.dropped == 5
    await sending.advance(60)
    assert len(sending.archive.waits) == log_sender.QUEUE


async def test_an_archive_that_stays_away_costs_the_lines_and_nothing_else() -> None:
    sending = Sending()
    sending.archive.log_answers = [503] * 100
    sending.end("a", "x")
    await sending.advance(300)
    assert sending.sender.dropped == 1


@pytest.mark.parametrize("status", [403, 507])
async def test_a_refusal_is_not_repeated_and_delays_no_other_namespace(status: int) -> None:
    sending = Sending()
    sending.archive.log_answers = [status]
    sending.end("a", "x")
    sending.end("b", "x", namespace="other")
    await sending.advance(1)
    assert sending.archive.requests == [f"/v1/namespaces/{name}/logs/waits" for name in ("team", "other")]


async def test_without_an_archive_nothing_is_sent() -> None:
    sending = Sending(installed=False)
    sending.end("a", "x")
    await sending.advance(60)
    assert sending.archive.requests == []
