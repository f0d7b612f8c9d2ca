"""Builds the runtime folder: start.py, and lib/ with the packages torpor and torpor_wire (ADR 0037).

    python3 worker-image/assemble.py DESTINATION [PYTHON...]

The folder is mounted read-only, so no interpreter can store bytecode in it. Each PYTHON compiles the packages here; the
folder then has bytecode for its version. Other versions compile the sources at each start of a task. Without PYTHON
this interpreter compiles them.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_HERE = Path(__file__).resolve().parent
PACKAGES = (_HERE / "torpor", _HERE.parent / "libraries" / "wire" / "torpor_wire")
MOUNT = "/torpor"
_READABLE = 0o755


def assemble(destination: Path, pythons: Sequence[str] = (sys.executable,)) -> Path:
    """Build the folder, which must not exist, and return it. Any user can read it, with any umask."""
    library = destination / "lib"
    library.mkdir(parents=True)
    shutil.copyfile(_HERE / "start.py", destination / "start.py")
    for package in PACKAGES:
        shutil.copytree(package, library / package.name, ignore=shutil.ignore_patterns("__pycache__", "py.typed"))
    for python in pythons:
        _compile(python, library)
    for path in (destination, *destination.rglob("*")):
        path.chmod(_READABLE if path.is_dir() else _READABLE & ~0o111)
    return destination


def _compile(python: str, library: Path) -> None:
    """Compile with hashes that are not checked: copies of the folder have other modification times."""
    words = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "-s", str(library.parent), "-p", MOUNT]
    # A version that cannot compile a module must not leave it out silently.
    subprocess.run([python, *words, str(library)], check=True, env=dict(os.environ, PYTHONDONTWRITEBYTECODE=""))


if __name__ == "__main__":
    assemble(Path(sys.argv[1]), sys.argv[2:] or (sys.executable,))
