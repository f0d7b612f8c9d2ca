"""Sources of a Schedule over a real API server: one TaskRun that fires, and is armed again with the cursor."""

import json
import time
from typing import Any

import pytest
from torpor_crds.models import taskrun
from torpor_wire import times, transitions, trigger

from tests.integration.conftest import collection
from tests.support.manifests import manifest

pytestmark = pytest.mark.integration

_MERGE = "application/merge-patch+json"


class Source:
    """The TaskRun of one source."""

    def __init__(self, pool: Any, class_name: str, kwargs: dict[str, Any]) -> None:
        self._pool = pool
        self._class = class_name
        self._kwargs = kwargs
        spec = {
            "schedule": {"name": "nightly", "uid": "s"},
            "task": "source",
            "triggerPool": pool.name,
            "trigger": {"class": class_name, "kwargs": json.dumps(kwargs)},
        }
        body = {
            "apiVersion": "torpor.dev/v1alpha1",
            "kind": "TaskRun",
            "metadata": {"generateName": f"nightly-{class_name}-"},
            "spec": spec,
        }
        created = pool.server.create("taskruns", pool.namespace, body).expect(201)
        self.name = taskrun.parse(created).metadata.name

    def arm(self, cursor: str | None) -> None:
        """Defer it, as the operator does."""
        pool, now = self._pool, time.time()
        parsed = taskrun.parse(
            pool.server.request("GET", f"{collection('taskruns', pool.namespace)}/{self.name}").expect(200)
        )
        place = {"namespace": pool.namespace, "pool": pool.name, "taskrun": self.name}
        waiting = trigger.build(self._class, {**self._kwargs, "cursor": cursor}, **place, now=now)
        patch = transitions.defer(parsed.pin(), waiting, resume=None, deadline=None, now=now)
        pool.server.patch_status(pool.namespace, self.name, patch).expect(200)

    def event(self, cursor: str | None) -> dict[str, Any]:
        """Arm it, and return what it fires."""
        self.arm(cursor)
        status = self._pool.ends(self.name)
        assert status.state == "Scheduled", status
        event: dict[str, Any] = json.loads(status.event)
        return event


def test_each_tick_fires_once_and_the_taskrun_goes_on(pool: Any) -> None:
    source = Source(pool, "cron", {"expression": "*/20 * * * * *", "timezone": "Europe/Berlin", "delay": 0.5})
    cursor, ticks = "2026-10-25T00:59:10Z", []
    for _ in range(5):
        event = source.event(cursor)
        assert event["at"] == event["cursor"]
        cursor = event["cursor"]
        ticks.append(cursor[:-5])
    assert ticks == [
        "2026-10-25T00:59:20",
        "2026-10-25T00:59:40",
        "2026-10-25T01:00:00",
        "2026-10-25T01:00:20",
        "2026-10-25T01:00:40",
    ]
    assert pool.status(source.name).segment == 5


def test_each_end_of_a_labelled_workflow_fires_once(pool: Any) -> None:
    for number in (2, 0, 1):
        _end(pool, f"load-{number}", at=1_700_000_000 + number)
    source = Source(pool, "workflow", {"labels": {"step": "load"}, "state": "succeeded"})
    cursor, names = "2020-01-01T00:00:00Z", []
    for _ in range(3):
        event = source.event(cursor)
        cursor = event["cursor"]
        names.append(event["name"])
    assert names == ["load-0", "load-1", "load-2"]
    source.arm(cursor)
    time.sleep(3)
    assert pool.waits(source.name)
    _end(pool, "load-3", at=time.time())
    assert json.loads(pool.ends(source.name).event)["name"] == "load-3"


def _end(pool: Any, name: str, *, at: float) -> None:
    """Create a Workflow that has ended."""
    body = manifest("Workflow", name, {"tasks": [{"name": "t", "trigger": {"class": "time"}}]}, labels={"step": "load"})
    pool.server.create("workflows", pool.namespace, body).expect(201)
    condition = {
        "type": "Succeeded",
        "status": "True",
        "reason": "Succeeded",
        "message": "",
        "lastTransitionTime": times.rfc3339(at),
    }
    status = {"state": "Succeeded", "completionTime": times.rfc3339(at), "conditions": [condition]}
    path = f"{collection('workflows', pool.namespace)}/{name}/status"
    pool.server.request("PATCH", path, {"status": status}, content_type=_MERGE).expect(200)
