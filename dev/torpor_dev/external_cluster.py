"""The user's cluster of TORPOR_KUBECONFIG. It is used, and never changed or removed."""

import os
import shutil
from pathlib import Path

from torpor_dev import command
from torpor_dev.console import CommandError, DevError, say

VARIABLE = "TORPOR_KUBECONFIG"


def kubeconfig() -> Path | None:
    """The kubeconfig that the environment names, or None."""
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser().resolve() if named else None


def check(path: Path) -> None:
    """Raise DevError unless the cluster answers. Without kubectl, check only the file."""
    if not path.is_file():
        raise DevError(f"{VARIABLE} names {path}, which is not a file")
    if shutil.which("kubectl") is None:
        say(f"using {path}; its cluster was not checked, because kubectl is not installed")
        return
    try:
        command.run("kubectl", "--kubeconfig", path, "--request-timeout=10s", "get", "--raw", "/readyz", limit=30)
    except CommandError as error:
        raise DevError(f"the cluster of {VARIABLE} does not answer:\n{error}") from error
    say(f"using the cluster of {path}")
