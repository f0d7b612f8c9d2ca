"""Notifications from the end of a run to its receiver: operator, triggerer and a web service, as processes."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from torpor_views import why
from torpor_views.model import RunView

from tests.integration.controller.stage import ControllerFixture, python


@dataclass(kw_only=True)
class WebReceiver:
    """A web service. `answers` are its status codes, the last one for ever; `calls` what it got: the key, the body."""

    port: int = 0
    answers: list[int] = field(default_factory=lambda: [200])
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def entry(self, *events: str) -> dict[str, Any]:
        """The entry of spec.notify that sends to it."""
        return {"name": "team", "events": list(events), "to": {"webhook": {"url": f"http://127.0.0.1:{self.port}/"}}}

    def answer(self, key: str, body: bytes) -> int:
        self.calls.append((key, json.loads(body)))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.fixture
def receiver() -> Iterator[WebReceiver]:
    received = WebReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(received.answer(self.headers["Idempotency-Key"], body))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Write no log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        received.port = server.server_port
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield received
        server.shutdown()
        thread.join()


def states(stage: ControllerFixture, run: str) -> list[str]:
    return [entry["state"] for entry in stage.status(run).get("notifications", [])]


def causes(stage: ControllerFixture, run: str) -> list[str]:
    parsed = RunView.parse(stage.get("workflows", run), stage.taskruns(run), now=time.time())
    return [str(cause.sentence) for cause in why.of_run(parsed) if cause.kind.startswith("Notification")]


def test_a_message_is_sent_until_its_receiver_accepts(stage: ControllerFixture, receiver: WebReceiver) -> None:
    receiver.answers = [503, 429, 200]
    failing = python("load", "failed", args={"message": "no table"})
    run = stage.submit([failing], notify=[receiver.entry("failure", "success") | {"title": "${run.name} failed"}])
    assert stage.ends(run)["state"] == "Failed"
    stage.until(lambda: states(stage, run) == ["Delivered"], "the message is delivered")
    keys, bodies = zip(*receiver.calls, strict=True)
    assert (len(keys), len(set(keys))) == (3, 1)
    assert bodies[-1].items() >= {"event": "failure", "title": f"{run} failed", "source": f"stage/{run}"}.items()
    assert causes(stage, run) == []
    sending = [each for each in stage.taskruns(run) if "notification" in each["spec"]]
    assert [each["status"]["state"] for each in sending] == ["Succeeded"]


def test_why_names_a_message_that_is_late_and_one_that_failed(stage: ControllerFixture, receiver: WebReceiver) -> None:
    receiver.answers = [503]
    run = stage.submit([python("load", "echo")], notify=[receiver.entry("success")])
    assert stage.ends(run)["state"] == "Succeeded"
    stage.until(lambda: any("answered 503" in each for each in causes(stage, run)), "why has the answer")
    assert causes(stage, run)[0].startswith("Notification team of success has not arrived for ")
    receiver.answers = [410]
    stage.until(lambda: states(stage, run) == ["Failed"], "the message has failed")
    (cause,) = causes(stage, run)
    assert cause.startswith("Notification team of success has failed: ")
    assert "answered 410" in cause
    stage.until(lambda: "NotificationFailed" in stage.events(run), "an Event says so")
    stage.skip_log("triggerer")
