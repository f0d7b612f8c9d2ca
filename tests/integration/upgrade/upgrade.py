"""Upgrades an installation of the previous release step by step while runs are under way, and goes back."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torpor_dev.console import say

from tests.integration.faults.campaign import await_archive
from tests.integration.faults.environment import open_namespace
from tests.integration.faults.installation import ProcessInstallation
from tests.integration.faults.release import CURRENT, SourceRelease
from tests.integration.upgrade.flight import Flight, pause
from tests.integration.upgrade.steps import BACK, STEPS


@dataclass(kw_only=True, eq=False)
class Upgrade:
    """`seconds` is how long the steps took, without the runs that follow."""

    installation: ProcessInstallation
    previous: SourceRelease
    flight: Flight
    rest: float = 3.0
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def begin(cls, installation: ProcessInstallation, previous: SourceRelease, *, rest: float = 3.0) -> "Upgrade":
        """Start runs in the previous release. `rest`: seconds between two steps."""
        installation.node.pods.python_paths[previous.image] = previous.python_path
        await_archive(installation, open_namespace(installation, "before-the-upgrade"))
        flight = Flight(installation=installation, namespace=open_namespace(installation, "upgrade"))
        flight.start_schedule()
        return cls(installation=installation, previous=previous, flight=flight, rest=rest)

    def forward(self) -> None:
        """Upgrade: at each step, a run with the old worker is under way, and in the end one with the new worker."""
        self._go(STEPS, CURRENT, self.previous.image)
        self.installation.release = CURRENT
        self.flight.submit(CURRENT.image)

    def back(self) -> None:
        """Go back: runs with the new worker are under way."""
        self._go(BACK, self.previous, CURRENT.image)
        self.installation.release = self.previous
        self.flight.submit(self.previous.image)

    def finish(self) -> list[str]:
        """Wait for all runs. Returns what is lost or repeated."""
        self.flight.stop_schedule()
        self.flight.finish()
        return self.flight.judge()

    def _go(
        self,
        steps: Mapping[str, Callable[[ProcessInstallation, SourceRelease], None]],
        release: SourceRelease,
        image: str,
    ) -> None:
        began = time.monotonic()
        for name, step in steps.items():
            self.flight.submit(image)
            pause(self.installation, self.flight, self.rest)
            step(self.installation, release)
            say(f"{name}, {time.monotonic() - began:.0f} s after the first step")
            pause(self.installation, self.flight, self.rest)
        self.seconds[release.image] = time.monotonic() - began
