"""The runtime folder with each interpreter of this machine: a claim, the task and its report, or a refusal.

The task imports every module of the runtime, so that each must work with the version.
"""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from torpor_wire import constants
from torpor_wire.runtime_variable import RuntimeVariable

from tests.support.runtime import interpreters, tokens
from tests.support.runtime.folder import start

TASK = """
import importlib, pkgutil, sys
import torpor, torpor_wire
from torpor import context

def load(number):
    print("python", *sys.version_info[:2])
    for package in (torpor, torpor_wire):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    return {"number": number, "task": context().task}
"""
IMAGE = """
import os, socket, sys
sys.path.append(os.environ["FOLDER"] + "/lib")
from torpor.runtime import http
from torpor_wire import constants
constants.CREDENTIALS = os.environ["CREDENTIALS"]
http.over_tls = lambda host, port, ca: lambda: socket.create_connection((host, port), timeout=30)
sys.path.pop()
"""


@dataclass
class SingleTaskRunServer:
    """An API server with one TaskRun, without TLS. It keeps the patches."""

    port: int
    patches: list[list[dict[str, Any]]] = field(default_factory=list)

    def states(self) -> list[Any]:
        """The states that the patches set."""
        return [op["value"] for patch in self.patches for op in patch if op["path"] == "/status/state" and _sets(op)]

    def value(self, name: str) -> Any:
        """The last value of a field of the status."""
        return [op["value"] for patch in self.patches for op in patch if op["path"] == f"/status/{name}"][-1]


def _sets(op: dict[str, Any]) -> bool:
    return bool(op["op"] == "add")


@pytest.fixture
def server() -> Iterator[SingleTaskRunServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PATCH(self) -> None:
            served.patches.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            spec = {
                "workflow": {"name": "w", "uid": "u"},
                "task": "load",
                "python": "authored:load",
                "arguments": [{"name": "number", "value": "3"}],
            }
            body = {"metadata": {"uid": "taskrun-uid"}, "spec": spec, "status": {"state": "Running"}}
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    listening = HTTPServer(("127.0.0.1", 0), Handler)
    served = SingleTaskRunServer(port=listening.server_port)
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield served
    listening.shutdown()
    thread.join()
    listening.server_close()


def interpreter(version: str) -> str:
    """The interpreter of this version, or skip the test."""
    interpreter = interpreters.find(version)
    if interpreter is None:
        pytest.skip(f"no Python {version} on PATH or in pyenv")
    return interpreter


@pytest.mark.parametrize("version", interpreters.SUPPORTED)
def test_a_task_runs_with_this_interpreter(
    version: str, folder: Path, server: SingleTaskRunServer, tmp_path: Path
) -> None:
    python = interpreter(version)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(IMAGE)
    (tmp_path / "token").write_text(tokens.bound_to("pod-uid"))
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "authored.py").write_text(TASK)
    environment = {
        constants.ENV_RUNTIME: RuntimeVariable(
            "default", "run-load-abcde", "taskrun-uid", "2023-11-14T22:13:00Z", 1
        ).text(),
        constants.ENV_SOURCE: str(tmp_path / "files"),
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": str(server.port),
        "FOLDER": str(folder),
        "CREDENTIALS": str(tmp_path),
    }

    ended = start(folder, python=python, cwd=tmp_path, environment=environment, packages=[tmp_path / "site"])

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == f"python {version.replace('.', ' ')}\n"
    assert server.states() == ["Running", "Succeeded"]
    assert json.loads(server.value("result")) == {"number": 3, "task": "load"}
    assert server.value("pod")["source"].startswith("sha256:")


@pytest.mark.parametrize("version", interpreters.OLD)
def test_this_interpreter_is_refused(version: str, folder: Path, tmp_path: Path) -> None:
    python = interpreter(version)

    ended = start(folder, python=python, cwd=tmp_path)

    assert ended.returncode == constants.EXIT_UNSUPPORTED
    assert ended.stderr.startswith(f"torpor: the image has Python {version}.")
    assert "needs Python 3.11 or later" in ended.stderr
