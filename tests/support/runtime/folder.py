"""The runtime folder of an injected pod, assembled from the checkout, and processes that start from it."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ASSEMBLE = ROOT / "worker-image" / "assemble.py"


def assemble(destination: Path, *pythons: str) -> Path:
    """Assemble the folder as the image build does."""
    subprocess.run([bare_python(), ASSEMBLE, destination, *pythons], check=True, timeout=120)
    return destination


def bare_python() -> str:
    """An interpreter without the packages of the checkout: the one that made the virtual environment."""
    return str(Path(sys.base_prefix) / "bin" / "python3")


def start(
    folder: Path,
    *words: str,
    python: str = "",
    cwd: Path | None = None,
    environment: dict[str, str] | None = None,
    packages: Sequence[Path] = (),
) -> subprocess.CompletedProcess[str]:
    """Run start.py of the folder; `packages` are folders that the image has on its path."""
    given = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(map(str, packages))}
    command = [python or bare_python(), *words, str(folder / "start.py")]
    return subprocess.run(
        command, env=given | (environment or {}), cwd=cwd, capture_output=True, text=True, check=False, timeout=60
    )
