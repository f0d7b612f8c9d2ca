"""Builds a Workflow in the interpreter that has the user's packages, which is seldom that of `torpor`.

The interpreter imports `torpor.authoring` from its own packages, else from those of `torpor`. Of the latter it sees the
SDK only, so that a module which imports more fails here as it would in the pod.
"""

import json
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from torpor_cli.errors import CliError, UsageError

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


def run(python: str, reference: str) -> Mapping[str, Any]:
    """Return `workflow` and `params` of a workflow function. Raises CliError."""
    command = [python, "-c", _START, json.dumps(_folders()), reference]
    try:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    except OSError as error:
        raise UsageError(f"--python {python} cannot be started: {error.strerror or error}") from error
    try:
        found, _ = json.JSONDecoder().raw_decode(ended.stdout.decode())
    except ValueError:
        raise CliError(f"{reference}: {python} ended with code {ended.returncode} and built no Workflow") from None
    if message := found.get("error"):
        raise CliError(f"{reference}: {message}{_hint(message, python)}")
    return found  # type: ignore[no-any-return]


def _folders() -> dict[str, str]:
    """Return the folder that contains each package of the SDK."""
    specs = {name: find_spec(name) for name in _SDK}
    return {name: str(Path(spec.origin).parents[1]) for name, spec in specs.items() if spec and spec.origin}


def _hint(message: str, python: str) -> str:
    if "ModuleNotFoundError" in message:
        return f"; the interpreter is {python}, and --python chooses another"
    return ""
