"""Commands of other packages: `torpor NAME` runs the program `torpor-NAME`, as kubectl does with its plugins.

A built-in command always wins, so that a program on the PATH cannot replace one.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_NAME = re.compile(r"[a-z][a-z0-9-]*", re.ASCII)


def find(name: str) -> str | None:
    """Return the program of a plugin: beside this interpreter, else on the PATH. None if there is none."""
    if not _NAME.fullmatch(name):
        return None
    own = str(Path(sys.executable).parent)
    return shutil.which(f"torpor-{name}", path=os.pathsep.join((own, os.environ.get("PATH", ""))))


def run(program: str, arguments: Sequence[str]) -> int:
    """Run the program with the standard streams of this process, and return its exit code."""
    code = subprocess.run([program, *arguments], check=False).returncode
    return code if code >= 0 else 128 - code
