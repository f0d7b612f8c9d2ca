"""Real servers that the integration tests of the repository start: PostgreSQL, Redis, and an API server of Kubernetes.

Their code needs the environment of the repository, so a process of that environment starts each of them.
"""

import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[4]
_SERVER = """
import sys
from tests.integration.triggers.servers import {module}
with {module}.started() as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""
_CONTROL_PLANE = """
import sys, tempfile
from pathlib import Path
from torpor_dev import control_plane
with tempfile.TemporaryDirectory() as folder:
    print(control_plane.start(Path(folder) / "state"), flush=True)
    try:
        sys.stdin.read()
    finally:
        control_plane.stop(Path(folder) / "state")
"""


def postgresql() -> AbstractContextManager[str]:
    """Start PostgreSQL, and yield its URL."""
    return _started(_SERVER.format(module="postgres"))


def redis() -> AbstractContextManager[str]:
    """Start Redis, and yield its URL."""
    return _started(_SERVER.format(module="redis_server"))


def control_plane() -> AbstractContextManager[str]:
    """Start etcd and an API server, and yield the path of a kubeconfig."""
    return _started(_CONTROL_PLANE)


@contextmanager
def _started(program: str) -> Iterator[str]:
    process = subprocess.Popen(
        [str(_ROOT / ".venv/bin/python"), "-c", program],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        lines = (line.strip() for line in process.stdout)
        found = next((line for line in lines if line.startswith(("/", "postgresql://", "redis://"))), "")
        if not found:
            raise RuntimeError("a server did not start")
        yield found
    finally:
        process.stdin.close()
        process.wait(timeout=60)
