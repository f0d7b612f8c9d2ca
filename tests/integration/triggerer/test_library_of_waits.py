"""The triggers that need no server of their own kind, in a triggerer's process, over a real API server."""

import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml
from torpor_crds.models import taskrun
from torpor_wire import times, transitions, trigger
from torpor_wire.secret_ref import SecretRef

from tests.integration.conftest import collection
from tests.support.manifests import manifest

pytestmark = pytest.mark.integration

_ROLE = Path(__file__).resolve().parents[3] / "manifests/components/secrets/role.yaml"
_RBAC = "rbac.authorization.k8s.io"
_MERGE = "application/merge-patch+json"


class Hooks(BaseHTTPRequestHandler):
    """Takes the third call of each."""

    asked: ClassVar[list[tuple[str, dict[str, str], str]]]

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        type(self).asked.append((self.path, headers, self.rfile.read(length).decode()))
        self.send_response(202 if len(type(self).asked) > 2 else 503)
        self.send_header("Retry-After", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hooks() -> Iterator[tuple[str, type[Hooks]]]:
    """A service that is called; its address, and the class that notes the calls."""

    class Own(Hooks):
        asked: ClassVar[list[tuple[str, dict[str, str], str]]] = []

    with ThreadingHTTPServer(("127.0.0.1", 0), Own) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", Own
        server.shutdown()
        thread.join()


@pytest.fixture
def token_in_a_secret(pool: Any) -> dict[str, Any]:
    """A reference to a Secret that the tasks of the namespace may read."""
    data = {"token": base64.b64encode(b"Bearer hunter2").decode()}
    pool.server.create("secrets", pool.namespace, {"metadata": {"name": "hook"}, "data": data})
    for text in yaml.safe_load_all(_ROLE.read_text()):
        pool.server.apply({**text, "metadata": {**text["metadata"], "namespace": pool.namespace}})
        own = {**text, "metadata": {"name": "read-hook", "namespace": pool.namespace}}
        if text["kind"] == "RoleBinding":
            own["roleRef"] = {**text["roleRef"], "name": "read-hook"}
            own["subjects"] = [{"kind": "ServiceAccount", "name": "torpor-task", "namespace": pool.namespace}]
        pool.server.apply(own)
    return SecretRef("hook", "token").written()


@pytest.fixture
def ann(pool: Any) -> Callable[..., None]:
    """Somebody who may approve, and does: `kubectl annotate` with a token of her own."""
    metadata = {"name": "ann", "namespace": pool.namespace}
    pool.server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    role = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "torpor-approve"}
    binding = {"apiVersion": f"{_RBAC}/v1", "kind": "RoleBinding", "metadata": metadata, "roleRef": role}
    pool.server.apply({**binding, "subjects": [{"kind": "ServiceAccount", **metadata}]})
    token = pool.server.token(pool.namespace, "ann")

    def says(name: str, word: str, **others: str) -> None:
        by = f"system:serviceaccount:{pool.namespace}:ann"
        words = {"approval": word, "approval-by": by, **{f"approval-{key}": value for key, value in others.items()}}
        patch = {"metadata": {"annotations": {f"torpor.dev/{key}": value for key, value in words.items()}}}
        path = f"{collection('taskruns', pool.namespace)}/{name}"
        pool.server.request("PATCH", path, patch, token=token, content_type=_MERGE).expect(200)

    return says


def test_a_cron_that_is_taken_over_late_fires_with_the_tick_it_waited_for(pool: Any) -> None:
    kwargs = {"expression": "*/5 * * * *", "timezone": "Asia/Kolkata", "after": "2026-11-20T08:01:00Z"}
    assert pool.ends(pool.deferred("cron", kwargs)).event == '"2026-11-20T08:05:00.000Z"'


def test_a_cron_waits_for_its_next_tick(pool: Any) -> None:
    name = pool.deferred("cron", {"expression": "0 0 1 1 *"}, timeout=1)
    status = pool.ends(name)
    assert (status.state, status.reason) == ("Failed", "DeferralTimeout")


def test_a_port_fires_once_something_listens(pool: Any) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        name = pool.deferred("tcp", {"host": "127.0.0.1", "port": port, "interval": "100ms"})
        pool.until(lambda: name in pool.replicas[-1].text(), "it waits")
        assert pool.waits(name)
        bound.listen()
        assert json.loads(pool.ends(name).event) == {"host": "127.0.0.1", "port": port, "address": "127.0.0.1"}


def test_a_person_answers_by_an_annotation(pool: Any, ann: Callable[..., None]) -> None:
    name = pool.deferred("approval", {"question": "Deploy 1.4?"})
    before = time.time()
    ann(name, "approved", note="go ahead")
    event = json.loads(pool.ends(name).event)
    by = f"system:serviceaccount:{pool.namespace}:ann"
    assert event | {"at": ""} == {"approved": True, "by": by, "note": "go ahead", "at": ""}
    assert before - 2 <= times.epoch(event["at"]) <= time.time() + 2


def test_an_answer_to_a_form_is_checked_before_it_is_the_event(pool: Any, ann: Callable[..., None]) -> None:
    fields = [{"name": "ticket", "pattern": "CHG-[0-9]+"}, {"name": "percent", "type": "integer", "default": 10}]
    name = pool.deferred("approval", {"subject": "Deploy", "fields": fields, "options": ["canary", "all"]})
    ann(name, "approved", fields='{"ticket":"17","options":["all"]}')
    ann(name, "approved", fields='{"options":["none"]}')
    ann(name, "approved", fields='{"ticket":"CHG-17","options":["all"]}')
    event = json.loads(pool.ends(name).event)
    assert (event["fields"], event["options"]) == ({"ticket": "CHG-17", "percent": 10}, ["all"])


def test_the_default_of_a_form_is_the_event_at_the_timeout(pool: Any) -> None:
    name = pool.deferred("approval", {"options": ["canary", "all"], "default": {"options": ["canary"]}}, timeout=1)
    event = json.loads(pool.ends(name).event)
    assert (event["approved"], event["by"], event["options"]) == (True, None, ["canary"])


def test_an_answer_counts_for_one_wait_only(pool: Any, ann: Callable[..., None]) -> None:
    # Only its pod may defer a python task again; the operator defers those with a container.
    name = pool.deferred("approval", {}, spec={"image": "i", "container": {"command": ["run"], "outcome": True}})
    ann(name, "approved")
    assert pool.ends(name).segment == 1
    _defer_again(pool, name)
    time.sleep(1)
    assert pool.waits(name)
    ann(name, "rejected", **{"for": "a1-s1"})
    assert json.loads(pool.ends(name).event)["approved"] is False


def _defer_again(pool: Any, name: str) -> None:
    """As the pod of the next segment does."""
    path = f"{collection('taskruns', pool.namespace)}/{name}"
    pod = {"name": "p", "uid": "u", "claim": "c"}
    patch = [
        {"op": "add", "path": f"/status/{key}", "value": value}
        for key, value in {"state": "Running", "pod": pod}.items()
    ]
    pool.server.patch_status(pool.namespace, name, patch).expect(200)
    parsed = taskrun.parse(pool.server.request("GET", path).expect(200))
    waiting = trigger.build("approval", {}, namespace=pool.namespace, pool=pool.name, now=time.time(), taskrun=name)
    resume = {"method": "m:f", "kwargs": "{}"}
    again = transitions.defer(parsed.pin(), waiting, resume=resume, deadline=None, now=time.time())
    pool.server.patch_status(pool.namespace, name, again).expect(200)


def test_a_hook_is_called_until_it_is_taken_with_what_a_secret_holds(
    pool: Any, hooks: tuple[str, type[Hooks]], token_in_a_secret: dict[str, Any]
) -> None:
    url, service = hooks
    headers = {"Authorization": token_in_a_secret}
    kwargs = {"url": f"{url}/hook", "body": {"text": "done"}, "headers": headers, "interval": "100ms"}
    name = pool.deferred("webhook", kwargs)
    status = pool.ends(name)
    assert status.event == '{"status":202}'
    path, sent, body = service.asked[0]
    assert (path, sent["authorization"], body) == ("/hook", "Bearer hunter2", '{"text":"done"}')
    keys = {headers["idempotency-key"] for _, headers, _ in service.asked}
    uid = pool.server.request("GET", f"{collection('taskruns', pool.namespace)}/{name}").body["metadata"]["uid"]
    assert len(service.asked) == 3
    assert len(keys) == 1
    assert keys.pop().startswith(f"{uid}-1-0-")
    assert "hunter2" not in status.model_dump_json() + pool.replicas[-1].text()


def test_the_end_of_another_run_is_waited_for(pool: Any) -> None:
    other = pool.deferred("duration", {"duration": "2s"}, spec={"trigger": {"class": "duration"}})
    failing = pool.deferred("raises", {})
    waits = [
        pool.deferred("taskrun", {"name": other, "state": "succeeded"}),
        pool.deferred("taskrun", {"name": failing}),
        pool.deferred("taskrun", {"name": failing, "state": "succeeded"}),
    ]
    first, second, third = (pool.ends(name) for name in waits)
    assert json.loads(first.event)["result"].endswith("Z")
    assert (json.loads(second.event)["state"], json.loads(second.event)["reason"]) == ("Failed", "TriggerFailed")
    assert (third.state, third.reason) == ("Failed", "TriggerFailed")
    assert f"TaskRun {failing} has failed: TriggerFailed: LookupError: no such row" in third.message


def test_a_workflow_is_waited_for_by_its_condition(pool: Any) -> None:
    body = manifest("Workflow", "other", {"tasks": [{"name": "t", "trigger": {"class": "time"}}]})
    pool.server.create("workflows", pool.namespace, body).expect(201)
    name = pool.deferred("workflow", {"name": "other"})
    condition = {
        "type": "Succeeded",
        "status": "True",
        "reason": "Succeeded",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    patch = {"status": {"state": "Succeeded", "conditions": [condition]}}
    time.sleep(0.5)
    assert pool.waits(name)
    path = f"{collection('workflows', pool.namespace)}/other/status"
    pool.server.request("PATCH", path, patch, content_type=_MERGE).expect(200)
    assert json.loads(pool.ends(name).event)["state"] == "Succeeded"


def test_any_of_several_is_decided_by_the_first(pool: Any, ann: Callable[..., None]) -> None:
    parts = [
        {"class": "http", "kwargs": {"url": "http://127.0.0.1:9/"}},
        {
            "class": "all_of",
            "kwargs": {"triggers": [{"class": "duration", "kwargs": {"duration": "1s"}}, {"class": "approval"}]},
        },
    ]
    name = pool.deferred("any_of", {"triggers": parts})
    ann(name, "approved")
    event = json.loads(pool.ends(name).event)
    assert (event["index"], event["class"]) == (1, "all_of")
    assert event["event"]["events"][1]["approved"] is True
