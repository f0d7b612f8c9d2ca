"""etcd of a control plane of these tests: restarted, compacted, backed up, and restored from the backup."""

import json
import os
import shutil
import signal
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import urllib3
from torpor_dev import control_plane, daemon
from torpor_dev.offline import golang

from tests.integration.conftest import eventually
from tests.support.controller_process import Plane

_SNAPSHOT, _DISK = "snapshot.db", "data"
_REVISIONS = ("--bump-revision=1000000000", "--mark-compacted")
"""Revisions go on above all that clients have seen: what watches from one of those gets 410."""


def compact(plane: Plane) -> int:
    """Discard all former revisions: watches from an older one get 410. Returns the revision."""
    body = {"key": b64encode(b"\0").decode(), "range_end": b64encode(b"\0").decode(), "count_only": True}
    revision = int(_ask(plane, "range", body)["header"]["revision"])
    _ask(plane, "compaction", {"revision": str(revision), "physical": True})
    return revision


@contextmanager
def down(plane: Plane) -> Iterator[None]:
    """Kill etcd, and start it again on the same data."""
    argv = _kill(plane, control_plane.ETCD)
    try:
        yield
    finally:
        daemon.start(control_plane.ETCD, argv, folder=plane.state)
        plane.await_ready()


def back_up(plane: Plane, target: Path) -> None:
    """Save the data in a new folder: a snapshot of etcd, or without etcdutl a copy of the disk."""
    target.mkdir()
    if golang.built(golang.ETCDUTL):
        _save_snapshot(plane, target / _SNAPSHOT)
    else:
        _copy_disk(plane, target / _DISK)


def restore(plane: Plane, source: Path) -> None:
    """Put back the backup: etcd and the API server are killed, and started on it. The controllers are killed, too."""
    if daemon.find(control_plane.CONTROLLERS, folder=plane.state) is not None:
        _kill(plane, control_plane.CONTROLLERS)
    names = (control_plane.API_SERVER, control_plane.ETCD)
    commands = {name: _kill(plane, name) for name in names}
    data = plane.state / "etcd"
    shutil.rmtree(data)
    if (source / _SNAPSHOT).exists():
        _restore_snapshot(source / _SNAPSHOT, data)
    else:
        shutil.copytree(source / _DISK, data)
    for name in reversed(names):
        daemon.start(name, commands[name], folder=plane.state)
    plane.await_ready()


def _save_snapshot(plane: Plane, target: Path) -> None:
    url = f"{_url(plane)}/v3/maintenance/snapshot"
    response = urllib3.request("POST", url, json={}, timeout=60.0)
    assert response.status == 200, response.data
    with target.open("wb") as file:
        for line in response.data.splitlines():
            file.write(b64decode(json.loads(line)["result"]["blob"]))


def _restore_snapshot(source: Path, data: Path) -> None:
    words = ("snapshot", "restore", source, "--data-dir", data, *_REVISIONS)
    done = subprocess.run([golang.build(golang.ETCDUTL), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _copy_disk(plane: Plane, target: Path) -> None:
    """Copy the data as they are on the disk at one moment, as a snapshot of the volume does."""
    process = _find(plane, control_plane.ETCD)
    os.kill(process.pid, signal.SIGSTOP)
    try:
        shutil.copytree(plane.state / "etcd", target)
    finally:
        os.kill(process.pid, signal.SIGCONT)


def _find(plane: Plane, name: str) -> daemon.Daemon:
    process = daemon.find(name, folder=plane.state)
    assert process is not None, f"{name} does not run"
    return process


def _kill(plane: Plane, name: str) -> list[str]:
    """Kill a process. Returns its command line."""
    process = _find(plane, name)
    argv = Path(f"/proc/{process.pid}/cmdline").read_text().rstrip("\0").split("\0")
    os.kill(process.pid, signal.SIGKILL)
    eventually(lambda: not daemon.alive(process), f"{name} has ended")
    return argv


def _ask(plane: Plane, verb: str, body: object) -> dict[str, dict[str, str]]:
    response = urllib3.request("POST", f"{_url(plane)}/v3/kv/{verb}", json=body, timeout=60.0)
    assert response.status == 200, response.data
    answer: dict[str, dict[str, str]] = response.json()
    return answer


def _url(plane: Plane) -> str:
    argv = Path(f"/proc/{_find(plane, control_plane.ETCD).pid}/cmdline").read_text().split("\0")
    return next(word.partition("=")[2] for word in argv if word.startswith("--listen-client-urls="))
