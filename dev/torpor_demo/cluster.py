"""The cluster to run in, as torpor_dev makes it or as TORPOR_KUBECONFIG names it.

Everything is asked of torpor_dev's command line, so that its progress is seen as it comes.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from torpor_dev.errors import DevError

ROOT = Path(__file__).resolve().parents[2]


def ensure() -> Path:
    """Have a cluster that works; gives its kubeconfig."""
    _ask("cluster")
    return Path(_ask("kubeconfig"))


def base_image() -> str:
    """The Python image that ours are built from."""
    return _ask("base-image")


def kubectl() -> str:
    """A kubectl for machines that have none."""
    return _ask("kubectl")


def load(images: Sequence[str]) -> None:
    """Bring local images to the cluster's nodes; of a cluster of the user's it is only said how to."""
    _ask("load", *images)


def _ask(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "torpor_dev", *words], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"torpor_dev {words[0]} failed; its last words are above")
    return done.stdout.strip()
