"""What a plain task costs from its start to its report: modules, requests and connections."""

from __future__ import annotations

import json
import os
import socketserver
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

import pytest
from torpor_wire import constants
from torpor_wire.runtime_variable import RuntimeVariable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TASKRUN = {
    "metadata": {"uid": "taskrun-uid"},
    "spec": {"workflow": {"name": "w", "uid": "u"}, "task": "load", "python": "authored:load"},
    "status": {"state": "Running"},
}
UNNEEDED = (
    *("asyncio", "dataclasses", "email", "hashlib", "http.client", "inspect", "logging", "pathlib", "random"),
    *("subprocess", "tempfile", "threading", "traceback", "urllib.parse", "uuid", "zoneinfo"),
    *("torpor.authoring", "torpor.files", "torpor.results", "torpor.sealing", "torpor.sensors", "torpor.triggers"),
    *("torpor.runtime.archive", "torpor.runtime.deferral", "torpor.runtime.instance_results"),
    *("torpor_wire.approvers", "torpor_wire.cron", "torpor_wire.instance_paths", "torpor_wire.secret_ref"),
    *("torpor_wire.trigger", "torpor_wire.typed_json"),
)


class CountingApiServer(socketserver.ThreadingUnixStreamServer):
    """Stores each patch of a TaskRun, and counts requests and connections."""

    daemon_threads = True

    def __init__(self, path: str) -> None:
        super().__init__(path, CountingHandler)
        self.connections = 0
        self.states: list[str] = []
        self.results: list[Any] = []

    def note(self, patch: list[dict[str, Any]]) -> None:
        values = {operation["path"]: operation["value"] for operation in patch if operation["op"] == "add"}
        self.states.append(values["/status/state"])
        self.results.append(json.loads(values.get("/status/result") or "null"))


class CountingHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: CountingApiServer

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_PATCH(self) -> None:
        self.server.note(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        content = json.dumps(TASKRUN).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture
def api(tmp_path: Path) -> Iterator[CountingApiServer]:
    with CountingApiServer(str(tmp_path / "api")) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run(folder: Path, source: str) -> None:
    """Run the shipped process of a task pod to its end."""
    (folder / "authored.py").write_text(source)
    environment = {
        "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]),
        constants.ENV_API: f"unix:{folder / 'api'}",
        constants.ENV_POD_UID: "pod-uid",
        constants.ENV_RUNTIME: RuntimeVariable("default", "w-load", "taskrun-uid", "2023-11-14T22:13:00Z", 1).text(),
    }
    # Without site: the packages of this machine's environment may import modules of their own at the start.
    subprocess.run([sys.executable, "-S", "-m", "torpor"], env=environment, check=True, timeout=180)


def test_a_plain_task_imports_nothing_that_it_does_not_need(api: CountingApiServer, tmp_path: Path) -> None:
    run(tmp_path, "import sys, torpor\n@torpor.task\ndef load(): return sorted(sys.modules)")

    modules = api.results[-1]
    assert "torpor.runtime.main" in modules
    assert [name for name in UNNEEDED if name in modules] == []


def test_a_plain_task_has_two_requests_over_one_connection(api: CountingApiServer, tmp_path: Path) -> None:
    run(tmp_path, "def load(): pass")

    assert api.states == ["Running", "Succeeded"]
    assert api.connections == 1


def test_the_garbage_collector_is_on_in_user_code(api: CountingApiServer, tmp_path: Path) -> None:
    run(tmp_path, "import gc\ndef load(): return gc.isenabled(), gc.get_freeze_count() > 0")

    assert api.results[-1] == [True, True]


def test_a_task_that_defers_has_two_requests_over_one_connection(api: CountingApiServer, tmp_path: Path) -> None:
    deferral = "defer(Time('2030-01-01T00:00:00Z'), then=done)"
    imports = "from torpor import defer\nfrom torpor.triggers import Time\n"
    run(tmp_path, f"{imports}def load(): return {deferral}\ndef done(event): pass")

    assert api.states == ["Running", "Deferred"]
    assert api.connections == 1
