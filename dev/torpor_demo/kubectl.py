"""Runs kubectl against one cluster, for the installation and for commands that a person would type.

Must not be used in a loop, because each command is a process; use torpor_crds to watch.
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

    @property
    def program(self) -> str | Path:
        """The program that it runs."""
        return self._program

    def run(self, *words: str | Path, limit: float = 60, stdin: str | None = None) -> str:
        """The output of one command. Raises torpor_dev's CommandError with its last lines."""
        return command.run(self._program, "--kubeconfig", self.kubeconfig, *words, limit=limit, stdin=stdin)

    def read(self, *words: str) -> Any:
        """The JSON of one `kubectl get`."""
        return json.loads(self.run("get", *words, "-o", "json"))
