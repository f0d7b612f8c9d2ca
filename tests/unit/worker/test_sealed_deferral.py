"""A trigger's `encrypted__` arguments: sealed before they are written to the TaskRun."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from torpor import sealing
from torpor_wire import constants, typed_json

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from tests.unit.worker.conftest import TaskPod, TaskRunApi

PAIR = sealing.new_pair()
WAIT = """
from datetime import UTC, datetime
from torpor import defer
class Drop:
    def __init__(self, **kwargs): self.kwargs = kwargs
    def serialize(self): return "http", self.kwargs
def end(event): return event
"""
SECRET = "hunter2 and more"


def test_a_sealed_value_is_not_on_the_taskrun_and_the_triggerer_opens_it(
    task: Callable[..., TaskPod], cluster: TaskRunApi
) -> None:
    pod = task(WAIT + "def load(token): return defer(Drop(url='https://a', encrypted__token=token[::-1]), then=end)")
    cluster.taskruns[pod.name]["spec"]["arguments"] = [{"name": "token", "value": json.dumps(SECRET[::-1])}]

    assert pod.run(pod.launch()._replace(seal_key=PAIR.public)) == 0
    assert SECRET not in json.dumps(cluster.patches)
    assert pod.status["trigger"]["waitsFor"] == "https://a"
    stored = json.loads(pod.status["trigger"]["kwargs"])
    assert sealing.unseal_kwargs("http", stored, PAIR.private, "default") == {"url": "https://a", "token": SECRET}


def test_a_sealed_time_is_opened_as_a_time(task: Callable[..., TaskPod]) -> None:
    pod = task(WAIT + "def load(): return defer(Drop(encrypted__at=datetime(2030, 1, 1, tzinfo=UTC)), then=end)")
    pod.run(pod.launch()._replace(seal_key=PAIR.public))

    opened = sealing.unseal_kwargs("http", json.loads(pod.status["trigger"]["kwargs"]), PAIR.private, "default")
    assert typed_json.decode(opened) == {"at": datetime(2030, 1, 1, tzinfo=UTC)}


def test_a_value_that_is_too_large_once_it_is_sealed_is_refused(task: Callable[..., TaskPod]) -> None:
    size = 3100  # below the limit as it is, above it as a box in base64
    pod = task(WAIT + f"def load(): return defer(Drop(encrypted__token='x' * {size}), then=end)")

    assert pod.run(pod.launch()._replace(seal_key=PAIR.public)) == 1
    assert pod.status["reason"] == "DeferralInvalid"
    assert f"bytes; the limit is {constants.KWARGS_MAX}" in pod.status["message"]


def test_an_invalid_key_is_reported_without_the_value(
    task: Callable[..., TaskPod], capsys: pytest.CaptureFixture[str]
) -> None:
    pod = task(WAIT + f"def load(): return defer(Drop(encrypted__token={SECRET!r}), then=end)")

    assert pod.run(pod.launch()._replace(seal_key="a2V5")) == 1
    message = "trigger http: encrypted__token: the pool's public key is not 32 bytes in base64"
    assert pod.status["message"] == message
    assert SECRET not in capsys.readouterr().err


def test_waits_with_sealed_values_share_no_poke(task: Callable[..., TaskPod]) -> None:
    seen = set()
    for _ in range(2):
        pod = task(WAIT + "def load(): return defer(Drop(encrypted__token='x'), then=end)")
        assert pod.run(pod.launch()._replace(seal_key=PAIR.public)) == 0
        seen.add(pod.status["trigger"]["key"])

    assert len(seen) == 2
