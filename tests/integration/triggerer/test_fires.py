"""A real API server, the installed roles and policies, and the triggerer as a process: waits fire."""

import json
import signal
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from torpor_wire import times

from tests.support.machine import slowness

pytestmark = pytest.mark.integration


class StatefulPage(BaseHTTPRequestHandler):
    """Busy until a test sets another state."""

    state = "busy"

    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/state")
            self.end_headers()
            return
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            self.end_headers()
            return
        body = json.dumps({"state": type(self).state, "rows": "x" * 100_000}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[tuple[str, type[StatefulPage]]]:
    """A web server; its address, and the class whose `state` it answers."""

    class Own(StatefulPage):
        pass

    with HTTPServer(("127.0.0.1", 0), Own) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", Own
        server.shutdown()
        thread.join()


def test_a_duration_fires_within_half_a_second_of_its_end(pool: Any) -> None:
    name = pool.deferred("duration", {"duration": "2s"})
    status = pool.ends(name)
    assert (status.state, status.segment, status.trigger, status.deadline) == ("Scheduled", 1, None, None)
    due = times.epoch(json.loads(status.event))
    assert due <= times.epoch(status.fired_at) + 0.001 <= due + 0.5 * slowness()


def test_a_task_that_is_a_wait_succeeds_with_the_event_as_its_result(pool: Any) -> None:
    name = pool.deferred("duration", {"duration": "1s"}, spec={"trigger": {"class": "duration"}})
    status = pool.ends(name)
    assert (status.state, status.event) == ("Succeeded", None)
    assert json.loads(status.result).endswith("Z")
    assert status.conditions[0].status == "True"


def test_http_fires_when_the_answer_is_as_asked(pool: Any, site: tuple[str, type[StatefulPage]]) -> None:
    url, answering = site
    kwargs = {"url": f"{url}/moved", "body_condition": "response.json.state == 'done'", "interval": "200ms"}
    name = pool.deferred("http", kwargs)
    time.sleep(1)
    assert pool.waits(name)
    answering.state = "done"
    event = json.loads(pool.ends(name).event)
    assert (event["status"], event["headers"], event["truncated"]) == (200, {"content-type": "application/json"}, True)
    assert event["text"].startswith('{"state": "done"')


def test_http_goes_nowhere_but_to_http(pool: Any, site: tuple[str, type[StatefulPage]]) -> None:
    name = pool.deferred("http", {"url": f"{site[0]}/away", "status": "200-399", "interval": "200ms"}, timeout=4)
    status = pool.ends(name)
    assert status.reason == "DeferralTimeout"
    assert "file:///etc/passwd" in status.message


def test_no_listener_means_not_yet(pool: Any) -> None:
    name = pool.deferred("http", {"url": "http://127.0.0.1:9/", "interval": "200ms"}, timeout=4)
    status = pool.ends(name)
    assert (status.state, status.reason) == ("Failed", "DeferralTimeout")
    assert "Cannot connect to host 127.0.0.1:9" in status.message


def test_kubernetes_fires_when_the_object_meets_its_condition(pool: Any) -> None:
    kwargs = {
        "api_version": "v1",
        "kind": "Pod",
        "name": "watched",
        "condition": "object.status.podIP.startsWith('10.')",
        "result": "object.status.podIP",
    }
    name = pool.deferred("kubernetes", kwargs)
    containers = [{"name": "c", "image": "i"}]
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "watched"}, "spec": {"containers": containers}}
    pod = _restricted(body)
    created = pool.server.create("pods", pool.namespace, pod).expect(201)
    time.sleep(0.5)
    assert pool.waits(name)
    status = {"podIP": "10.0.0.7", "podIPs": [{"ip": "10.0.0.7"}]}
    patch = [{"op": "add", "path": f"/status/{field}", "value": value} for field, value in status.items()]
    path = f"/api/v1/namespaces/{pool.namespace}/pods/watched/status"
    pool.server.request("PATCH", path, patch, content_type="application/json-patch+json").expect(200)
    event = json.loads(pool.ends(name).event)
    assert (event["uid"], event["result"]) == (created["metadata"]["uid"], "10.0.0.7")


def test_kubernetes_waits_for_a_workflow_too(pool: Any) -> None:
    kwargs = {"api_version": "torpor.dev/v1alpha1", "kind": "TaskRun", "condition": "object.status.state == 'Failed'"}
    failing = pool.deferred("raises", {})
    assert pool.ends(pool.deferred("kubernetes", {**kwargs, "name": failing})).state == "Scheduled"


def test_a_class_that_knows_nothing_of_torpor_runs(pool: Any) -> None:
    name = pool.deferred("pkg.Foreign", {"seconds": 0.5})
    assert pool.ends(name).event == '{"slept":0.5}'


def test_a_cancelled_wait_is_killed(pool: Any, tmp_path: Path) -> None:
    note = tmp_path / "note"
    name = pool.deferred("killed", {"note": str(note)})
    pool.until(lambda: f"/{name} a1 s0] waits for" in pool.replicas[0].text(), "it is served")
    pool.cancel(name)
    status = pool.ends(name)
    assert (status.state, status.reason, note.read_text()) == ("Cancelled", "Cancelled", "killed")


def test_a_killed_or_stopped_replica_is_replaced(empty_pool: Any) -> None:
    pool = empty_pool
    first, second = pool.start(), pool.start()
    pool.until(lambda: second.text().count("members: ") and first.text().count("members: ") >= 2, "both know both")
    names = [pool.deferred("duration", {"duration": f"{5 + number / 10}s"}) for number in range(10)]
    first.process.kill()
    assert {pool.ends(name).segment for name in names} == {1}
    third = pool.start()
    second.process.send_signal(signal.SIGTERM)
    assert second.process.wait(timeout=180) == 0
    pool.until(lambda: not [name for name in pool.leases() if "-r1-" in name], "its lease is gone", third)
    assert pool.ends(pool.deferred("duration", {"duration": "1s"})).segment == 1


def test_health_is_well(pool: Any) -> None:
    assert pool.replicas[0].health == "ok\n"


def _restricted(pod: dict[str, Any]) -> dict[str, Any]:
    """As Pod Security `restricted` has it."""
    pod["spec"]["securityContext"] = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    for container in pod["spec"]["containers"]:
        container["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        container["resources"] = {
            "requests": {"cpu": "10m", "memory": "8Mi"},
            "limits": {"cpu": "10m", "memory": "8Mi"},
        }
    return pod
