"""The only node: it leaves no process behind, and reads no more of a log than it needs."""

import asyncio
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from torpor_kubernetes.client.resources import PODS
from torpor_local.apiserver.history import ObjectChange
from torpor_local.apiserver.server import ApiServer
from torpor_local.clock import SkippableClock
from torpor_local.pods import files, status
from torpor_local.pods.kubelet import HostMachine, ProcessKubelet
from torpor_wire import constants

PYTHON = """#!/bin/sh
read -r _
echo $$ > pid.new
mv pid.new pid
exec sleep 600
"""
_LIMIT = 60.0


def host(folder: Path) -> HostMachine:
    """A machine whose interpreter is a script that sleeps."""
    script = folder / "python"
    script.write_text(PYTHON)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return HostMachine(
        python=str(script),
        jobs=1,
        working_directory=folder,
        logs=folder,
        scratch=folder,
        packages=folder,
        socket=folder / "api",
        archive=folder / "archive",
        environ=os.environ.copy(),
        container_tool=None,
    )


def pod() -> dict[str, Any]:
    container = {"name": "main", "env": [{"name": constants.ENV_RUNTIME, "value": "{}"}]}
    return {"metadata": {"name": "one", "namespace": "default"}, "spec": {"containers": [container]}}


def assert_begun(pid: Path) -> None:
    """Wait until the process of the pod has begun. It needs no event loop to begin."""
    end = time.monotonic() + _LIMIT
    while not pid.exists():
        assert time.monotonic() < end, f"the process has not begun; its log: {(pid.parent / 'one.log').read_text()}"
        time.sleep(0.01)


async def test_a_process_whose_pod_cannot_be_written_is_killed(tmp_path: Path) -> None:
    server, clock, pid = ApiServer(SkippableClock()), SkippableClock(), tmp_path / "pid"
    kubelet = ProcessKubelet(server, clock, host(tmp_path))

    def changed(entry: ObjectChange) -> None:
        if entry.after is not None and entry.after["status"]["phase"] == "Running":
            assert_begun(pid)
            raise OSError("no space left on device")
        kubelet.observe(entry)

    server.history.on_change = changed
    server.create(PODS, "default", pod())
    async with asyncio.timeout(2 * _LIMIT):
        while not kubelet.idle:  # noqa: ASYNC110 - it sends no other sign
            await asyncio.sleep(0.01)
    (ended,) = server.all(PODS)
    (container,) = ended["status"]["containerStatuses"]
    assert ended["status"]["phase"] == "Failed"
    assert "no space left on device" in container["state"]["terminated"]["message"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_only_the_end_of_a_log_is_read(tmp_path: Path) -> None:
    log = tmp_path / "pod.log"
    log.write_bytes(b"first\n" + b"x" * status.LOG_TAIL + b"\nlast\n")
    assert files.tail(log, 5) == b"last\n"
    assert files.tail(log, 10**6).startswith(b"first")
    pod_files = files.PodFiles.of_pod("pod", "uid", logs=tmp_path, scratch=tmp_path)
    pod_files.create()
    assert (pod_files.termination_message(0), pod_files.termination_message(1)[-5:]) == ("", "last\n")
    pod_files.message.write_bytes(b"y" * 2 * status.MESSAGE_MAX)
    assert pod_files.termination_message(1) == "y" * status.MESSAGE_MAX
