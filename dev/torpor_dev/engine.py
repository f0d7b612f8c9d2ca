"""Finds a Docker engine, or installs and starts Debian's.

Never stops an engine that was not started here, and never restarts one that answers.
"""

import functools
import os
import shutil
import time
from pathlib import Path

from torpor_dev import cache, command, daemon, host
from torpor_dev.console import CommandError, DevError, NothingWorksError, step
from torpor_dev.offline import golang

_SMALLEST_IMAGE = "hello-world:latest"
_PULL_LIMIT = 15
_NAME = "dockerd"
_PACKAGES = ("docker.io", "iptables", "ca-certificates")
_START_LIMIT = 60.0
_PID_FILES = (
    (Path("/var/run/docker.pid"), "dockerd"),
    (Path("/var/run/docker/containerd/containerd.pid"), "containerd"),
)


def reachable() -> bool:
    """Whether a Docker engine answers."""
    return command.succeeds("docker", "version", "--format", "{{.Server.Version}}", limit=20)


def ensure(machine: host.HostFacts) -> None:
    """Ensure a Docker engine that answers. Raises NothingWorksError at once if none is possible."""
    if reachable():
        return
    _require(machine)
    with cache.lock(_folder() / "lock"):
        if not reachable():
            _start(machine)


def _require(machine: host.HostFacts) -> None:
    if not (machine.linux and machine.debian and machine.root):
        raise NothingWorksError(
            "No Docker engine answers, and one can be installed here only as root on Debian.\n"
            "Install or start Docker, run this as root on Debian, or set TORPOR_KUBECONFIG to a cluster's kubeconfig."
        )


def _start(machine: host.HostFacts) -> None:
    install(*(() if shutil.which("dockerd") else _PACKAGES))
    with step("starting the Docker engine"):
        if machine.systemd and machine.sys_resource:
            command.run("systemctl", "start", "docker", limit=120)
        else:
            _start_by_hand(machine)
        _await_answer()


def stop() -> None:
    """Stop the engine if an earlier command started it."""
    if daemon.find(_NAME, folder=_folder()) is not None:
        with step("stopping the Docker engine"):
            daemon.stop(_NAME, folder=_folder(), timeout=30)


def install(*packages: str) -> None:
    """Install Debian packages, without recommended ones."""
    if not packages:
        return
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with step(f"installing {', '.join(packages)}"):
        command.run("apt-get", "update", "-q", limit=300, env=env)
        command.run("apt-get", "install", "-q", "-y", "--no-install-recommends", *packages, limit=900, env=env)


def _start_by_hand(machine: host.HostFacts) -> None:
    daemon.stop(_NAME, folder=_folder(), timeout=30)  # started here, but without an answer
    for file, program in _PID_FILES:
        _drop_stale(file, program)
    argv: list[str | Path] = [_NAME]
    if not machine.sys_resource:
        runc = golang.build(golang.LESSCAPS)
        argv += ["--add-runtime", f"lesscaps={runc}", "--default-runtime", "lesscaps"]
    daemon.start(_NAME, argv, folder=_folder())


def _drop_stale(file: Path, program: str) -> None:
    """Remove a pid file whose process is another program by now, because the engine would not start."""
    try:
        pid = int(file.read_text())
        running = program.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    except (OSError, ValueError):
        running = False
    if not running:
        file.unlink(missing_ok=True)


def _await_answer() -> None:
    deadline = time.monotonic() + _START_LIMIT
    while not reachable():
        if time.monotonic() > deadline:
            output = daemon.tail(_NAME, folder=_folder())
            raise DevError(
                f"the Docker engine does not answer; the last lines of {_folder() / 'dockerd.log'}:\n{output}"
            )
        time.sleep(0.3)


def _folder() -> Path:
    return cache.folder("engine")


def image_id(image: str) -> str | None:
    """The id of a local image, or None."""
    try:
        return command.run("docker", "image", "inspect", "--format", "{{.Id}}", image, limit=30).strip()
    except CommandError:
        return None


@functools.cache
def can_pull() -> bool:
    """Whether the engine can pull from Docker Hub or its mirror.

    Tries a real pull, because the proxies and mirrors of the engine are unknown here.
    """
    with step("asking whether an image registry can be reached"):
        return command.succeeds("docker", "pull", "--quiet", _SMALLEST_IMAGE, limit=_PULL_LIMIT)
