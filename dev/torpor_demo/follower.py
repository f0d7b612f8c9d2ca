"""Shows a run with `torpor get -w`, as a user would: a live tree on a terminal, a line a transition in a pipe."""

import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

_END_S = 30.0
"""How long the command may go on after the run has ended."""


class Follower:
    """The command as a process. It ends by itself with the run; leaving the block ends it in any case."""

    def __init__(self, kubeconfig: Path, namespace: str, name: str) -> None:
        cluster = ("--kubeconfig", str(kubeconfig), "-n", namespace)
        self._command = (sys.executable, "-m", "torpor_cli", "get", "-w", *cluster, name)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the command. The Workflow must exist."""
        self._process = subprocess.Popen(self._command)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        try:
            self._process.wait(_END_S if kind is None else 0.0)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            self._process.wait()
