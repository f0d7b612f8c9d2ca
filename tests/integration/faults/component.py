"""One replica of a component as a process, which is started again when it ends, as a kubelet does.

Only processes that were started here are ever signalled, by their pid.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.integration.faults.faulty_proxy import FaultyProxy


@dataclass(kw_only=True, eq=False)
class Component:
    """`prepare` writes fresh credentials before each start. `held`: it must stay down."""

    name: str
    argv: Sequence[str]
    proxy: FaultyProxy
    folder: Path
    environment: dict[str, str]
    prepare: Callable[[], None]
    held: bool = False
    starts: int = 0
    process: "subprocess.Popen[bytes] | None" = field(default=None)

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self, extra: Mapping[str, str] | None = None) -> None:
        """Start it. `extra` are further variables of this process alone."""
        self.prepare()
        environment = os.environ | self.environment | dict(extra or {})
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *self.argv], stdout=log, stderr=subprocess.STDOUT, env=environment
            )
        self.starts += 1

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if it runs."""
        if self.process is not None and self.alive:
            self.process.send_signal(number)

    def kill(self) -> None:
        """End it at once."""
        self.send(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def terminate(self) -> None:
        """End it as a rollout does: SIGTERM, and SIGKILL after half a minute."""
        self.send(signal.SIGTERM)
        if self.process is not None:
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

    def tail(self, lines: int = 15) -> str:
        """The last lines of its log."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])
