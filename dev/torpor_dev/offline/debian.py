"""Downloads Debian packages and unpacks programs from them without installing them.

To install a server needs root, changes the machine, and starts the server on its usual port. Dependencies are
downloaded unless this machine has them; scripts of packages do not run.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from torpor_dev import cache, command
from torpor_dev.console import NothingWorksError, step

_LIBRARIES = ("usr/lib", "lib")


def fetch(*packages: str, without: tuple[str, ...] = ()) -> list[Path]:
    """The files of these packages and of missing dependencies, without names that begin with `without`."""
    if not shutil.which("apt-get"):
        raise NothingWorksError(
            f"{', '.join(packages)} can be fetched on Debian and its like only; install it and put it on PATH."
        )
    folder = cache.folder("debian", "-".join(packages))
    with cache.lock(folder / "lock"):
        if not (folder / "complete").exists():
            with step(f"fetching {', '.join(packages)} from Debian"):
                _download(packages, folder)
            (folder / "complete").touch()
    return [file for file in sorted(folder.glob("archives/*.deb")) if not file.name.startswith(without)]


def unpack(files: list[Path], target: Path) -> Path:
    """Unpack packages into a folder; return the folder."""
    for file in files:
        command.run("dpkg-deb", "--extract", file, target, limit=120)
    return target


def environment(root: Path) -> Mapping[str, str]:
    """The environment of a program in an unpacked folder: its libraries come before the system's."""
    folders = {str(file.parent) for name in _LIBRARIES for file in (root / name).glob("**/*.so*")}
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(sorted(folders))}


def _download(packages: tuple[str, ...], folder: Path) -> None:
    """Download with apt, with separate lists and archives: no root, no change of the system."""
    for name in ("lists/partial", "archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    options = {
        "Dir::State::lists": folder / "lists",
        "Dir::Cache::archives": folder / "archives",
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "Debug::NoLocking": "1",
        "APT::Sandbox::User": "root",
    }
    given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    command.run("apt-get", "-q", *given, "update", limit=300)
    wanted = ["install", "--download-only", "--reinstall", "--no-install-recommends", "-y"]
    command.run("apt-get", "-q", *given, *wanted, *packages, limit=900)
    shutil.rmtree(folder / "lists")
