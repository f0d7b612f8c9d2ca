"""The interpreter that has the user's packages, which is seldom that of `torpor`, and the Workflow that it builds.

The interpreter imports `torpor.authoring` from its own packages, else from those of `torpor`. Of the latter it sees the
SDK only, so that a module which imports more fails here as it would in the pod.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from torpor_cli import errors
from torpor_cli.errors import CliError, UsageError

_OLDEST = (3, 11)
_VERSION = "import sys; sys.stdout.write('%d %d' % sys.version_info[:2])"


def choose(python: str | None, environment: Mapping[str, str] = os.environ) -> str:
    """Return `--python`, else the Python of the active virtual environment, else that of this process.

    Raises UsageError if there is none, or if it is too old.
    """
    executable = _executable(python, environment)
    if executable != sys.executable:
        _check_version(executable)
    return executable


def _executable(python: str | None, environment: Mapping[str, str]) -> str:
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
        raise errors.UsageError(f"{python} is not a usable Python: {last}")
    if version < _OLDEST:
        raise errors.UsageError(f"{python} is Python {version[0]}.{version[1]}; tasks need 3.11 or later: add --python")


_SDK = ("torpor", "torpor_wire")
_START = """
import json, runpy, sys
from importlib.machinery import PathFinder
folders = json.loads(sys.argv.pop(1))
class Bundled(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return PathFinder.find_spec(name, [folders[name]], target) if name in folders else None
sys.meta_path.append(Bundled)
try:
    import torpor.authoring
except ImportError as error:
    sys.stdout.write(json.dumps({"error": "the package torpor of this interpreter is too old: %s" % error}))
    sys.exit()
runpy.run_module("torpor.authoring", run_name="__main__")
"""


def build_workflow(python: str, reference: str) -> Mapping[str, Any]:
    """Return `workflow` and `params` of a workflow function. Raises CliError."""
    command = [python, "-c", _START, json.dumps(_folders()), reference]
    try:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    except OSError as error:
        raise UsageError(f"--python {python} cannot be started: {error.strerror or error}") from error
    try:
        built, _ = json.JSONDecoder().raw_decode(ended.stdout.decode())
    except ValueError:
        raise CliError(f"{reference}: {python} ended with code {ended.returncode} and built no Workflow") from None
    if message := built.get("error"):
        raise CliError(f"{reference}: {message}{_hint(message, python)}")
    return built  # type: ignore[no-any-return]


def _folders() -> dict[str, str]:
    """Return the folder that contains each package of the SDK."""
    specs = {name: find_spec(name) for name in _SDK}
    return {name: str(Path(spec.origin).parents[1]) for name, spec in specs.items() if spec and spec.origin}


def _hint(message: str, python: str) -> str:
    if "ModuleNotFoundError" in message:
        return f"; the interpreter is {python}, and --python chooses another"
    return ""
