"""Creates Debian root file systems with mmdebstrap, and packs them for Docker.

Needs root on Debian. Not used where an image registry can be reached.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from torpor_dev import cache, command, engine, host, versions
from torpor_dev.console import NothingWorksError, step

_EXCLUDED = ("doc", "man", "locale", "info", "lintian", "bug")


@contextmanager
def debian_root(name: str, packages: Sequence[str], machine: host.HostFacts) -> Iterator[Path]:
    """Create a root file system with these packages; remove it at the end."""
    if not (machine.root and machine.debian):
        raise NothingWorksError(
            "No image registry can be reached, and images can be built without one only as root on Debian.\n"
            "Make Docker Hub reachable, run this as root on Debian, or set TORPOR_KUBECONFIG to a cluster's kubeconfig."
        )
    if not shutil.which("mmdebstrap"):
        engine.install("mmdebstrap", "debian-archive-keyring")
    root = cache.folder("build") / name
    _remove(root)
    try:
        with step(f"installing Debian packages for the {name} image"):
            _bootstrap(root, packages)
        yield root
    finally:
        _remove(root)


def pack(root: Path, target: Path) -> None:
    """Write the file system to a tar for `docker import`."""
    partial = target.with_suffix(".partial")
    excluded = [f"--exclude=./{each}" for each in ("dev/*", "proc/*", "sys/*", "tmp/*", "run/*")]
    command.run("tar", "--numeric-owner", *excluded, "-C", root, "-cf", partial, ".", limit=600)
    partial.rename(target)


def load(tar: Path, image: str, changes: Sequence[str]) -> None:
    """Import a packed file system as a Docker image; `changes` are Dockerfile lines such as ENV."""
    options = [word for change in changes for word in ("--change", change)]
    command.run("docker", "import", *options, tar, image, limit=600)


def _bootstrap(root: Path, packages: Sequence[str]) -> None:
    slim = [f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in _EXCLUDED]
    keep = "--dpkgopt=path-include=/usr/share/doc/*/copyright"
    include = f"--include={','.join(packages)}"
    # Left alone it would take the caller's TMPDIR for the folder's, which may be another disk.
    env = {**os.environ, "TMPDIR": str(root.parent)}
    args = ["mmdebstrap", "--mode=root", "--variant=minbase", *slim, keep, include, versions.DEBIAN, str(root)]
    command.run(*args, limit=1200, env=env)


def _remove(root: Path) -> None:
    if root.exists():
        command.run("rm", "-rf", "--one-file-system", root, limit=300)
