"""The cluster of torpor_dev or of TORPOR_KUBECONFIG.

Uses the command line of torpor_dev, so that its progress appears at once.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from torpor_dev.console import DevError

ROOT = Path(__file__).resolve().parents[2]


def ensure() -> Path:
    """Ensure a healthy cluster; return its kubeconfig."""
    _ask("cluster")
    return Path(_ask("kubeconfig"))


def base_image() -> str:
    """The Python image to build from."""
    return _ask("base-image")


def kubectl() -> str:
    """The path of a kubectl."""
    return _ask("kubectl")


def load(images: Sequence[str]) -> None:
    """Load local images onto the nodes; for a cluster of the user, print how to."""
    _ask("load", *images)


def _ask(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "torpor_dev", *words], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"torpor_dev {words[0]} failed; its last words are above")
    return done.stdout.strip()
