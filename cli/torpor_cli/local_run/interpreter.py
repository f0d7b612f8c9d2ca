"""Which Python runs the tasks."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from torpor_cli import errors

_OLDEST = (3, 11)
_VERSION = "import sys; sys.stdout.write('%d %d' % sys.version_info[:2])"


def choose(python: str | None, environment: Mapping[str, str] = os.environ) -> str:
    """Return `--python`, else the Python of the active virtual environment, else that of this process.

    Raises UsageError if there is none, or if it is too old.
    """
    found = _found(python, environment)
    if found != sys.executable:
        _check_version(found)
    return found


def _found(python: str | None, environment: Mapping[str, str]) -> str:
    if python is None:
        active = environment.get("VIRTUAL_ENV")
        own = Path(active) / "bin" / "python" if active else None
        return str(own) if own is not None and own.exists() else sys.executable
    name = str(Path(python) / "bin" / "python") if (Path(python) / "bin" / "python").exists() else python
    path = shutil.which(name)
    if path is None:
        raise errors.UsageError(f"--python {python}: there is no such program")
    return str(Path(path).absolute())


def _check_version(python: str) -> None:
    ended = subprocess.run([python, "-c", _VERSION], capture_output=True, text=True, check=False)
    version = tuple(int(word) for word in ended.stdout.split() if word.isdigit())
    if ended.returncode or not version:
        last = (ended.stderr.strip().splitlines() or [f"it ended with code {ended.returncode}"])[-1]
        raise errors.UsageError(f"{python} is no usable Python: {last}")
    if version < _OLDEST:
        raise errors.UsageError(f"{python} is Python {version[0]}.{version[1]}; tasks need 3.11 or later: add --python")
