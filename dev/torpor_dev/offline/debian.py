"""Programs out of Debian's packages without installing them: fetched once, unpacked where they are to run.

Installing a server also starts it, as a service on its usual port, and changes the machine; and it needs root. Tests
want neither. What a package needs comes along unless this machine has it; scripts of packages are not run.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from torpor_dev import cache, command
from torpor_dev.errors import NothingWorksError
from torpor_dev.progress import step

_LIBRARIES = ("usr/lib", "lib")


def fetch(*packages: str, without: tuple[str, ...] = ()) -> list[Path]:
    """The files of these packages and of what they need here; `without` are beginnings of names to leave out."""
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
    """Put the content of packages into a folder; gives the folder."""
    for file in files:
        command.run("dpkg-deb", "--extract", file, target, limit=120)
    return target


def environment(root: Path) -> Mapping[str, str]:
    """With the libraries of an unpacked folder before the system's."""
    found = {str(file.parent) for name in _LIBRARIES for file in (root / name).glob("**/*.so*")}
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(sorted(found))}


def _download(packages: tuple[str, ...], folder: Path) -> None:
    """Apt with lists and archives of our own, so that it needs no root and leaves the system's as they are."""
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
