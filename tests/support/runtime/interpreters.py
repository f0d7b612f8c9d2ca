"""The Python interpreters of this machine, by their version: on PATH, of pyenv, and those that the tests run with."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

OLD = ("2.7", "3.6", "3.7", "3.8", "3.9", "3.10")
SUPPORTED = ("3.11", "3.12", "3.13", "3.14", "3.15")


@cache
def find(version: str) -> str | None:
    """The path of an interpreter of this version, None if there is none that works."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    installed = sorted(str(path) for path in root.glob(f"{version}[.a-z]*/bin/python{version}"))
    candidates = [shutil.which(f"python{version}"), *installed]
    return next((path for path in candidates if path is not None and _works(path, version)), None)


def _works(path: str, version: str) -> bool:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    ran = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    return ran.returncode == 0 and ran.stdout.strip() == version
