"""A segment from its claim to its report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.worker.conftest import Cluster, Pod

WAIT = """
from torpor import defer, task, context
class Drop:
    def serialize(self):
        return "http", {"url": "https://example.org/_SUCCESS"}
"""


def test_a_function_is_called_with_its_arguments_and_its_result_is_stored(task: Callable[..., Pod]) -> None:
    pod = task("def load(path, rows): return {'path': path, 'rows': rows + [None, 1.0]}", path="a.csv", rows=[1])

    assert pod.run() == 0

    assert pod.status["state"] == "Succeeded"
    assert pod.status["result"] == '{"path":"a.csv","rows":[1,null,1.0]}'
    assert pod.status["conditions"][0]["status"] == "True"


def test_a_segment_costs_one_patch_to_claim_and_one_to_report(task: Callable[..., Pod], cluster: Cluster) -> None:
    pod = task("def load(): return 1")

    pod.run()

    assert [method for method, _ in cluster.requests] == ["PATCH", "PATCH"]


def test_a_function_that_defers_goes_on_in_another_with_the_event_and_the_state(task: Callable[..., Pod]) -> None:
    pod = task(WAIT + """
def load(day): return defer(Drop(), then=merge, timeout=60, day=day)
def merge(event, day): return [event, day]
""", day="mon")

    assert pod.run() == 0
    assert pod.status["state"] == "Deferred"
    assert pod.status["trigger"]["class"] == "http"
    assert json.loads(pod.status["next"]["kwargs"]) == {"day": "mon"}
    assert pod.at("deadline") == pod.cluster.clock + 60
    pod.fire({"ok": True})

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == [{"ok": True}, "mon"]
