"""kubectl against one cluster: the few verbs that bring Torpor up, and what a person would type.

Must not be used in a loop: a process a question is slow; what is watched goes through torpor_api.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from torpor_dev import command

from torpor_demo import cluster


class Kubectl:
    """kubectl with a kubeconfig."""

    def __init__(self, kubeconfig: Path, program: str | Path | None = None) -> None:
        self.kubeconfig = kubeconfig
        self._program = program or shutil.which("kubectl") or cluster.kubectl()

    def run(self, *words: str | Path, limit: float = 60, stdin: str | None = None) -> str:
        """The output of one command. Raises torpor_dev's CommandError with its last lines."""
        return command.run(self._program, "--kubeconfig", self.kubeconfig, *words, limit=limit, stdin=stdin)

    def read(self, *words: str) -> Any:
        """The JSON of one `kubectl get`."""
        return json.loads(self.run("get", *words, "-o", "json"))
