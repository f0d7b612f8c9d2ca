"""The controllers of a control plane of these tests, which the kubelet of a real one starts again when they end.

They end whenever the API server is not healthy for ten seconds. Without them nothing collects garbage.
"""

from dataclasses import dataclass
from pathlib import Path

from torpor_dev import control_plane, daemon

from tests.support.controller_process import Plane


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeControllers:
    """`argv` is their command line."""

    plane: Plane
    argv: list[str]

    @classmethod
    def find(cls, plane: Plane) -> "KubeControllers":
        """Return the controllers that run now."""
        process = daemon.find(control_plane.CONTROLLERS, folder=plane.state)
        assert process is not None, "the control plane has no controllers"
        argv = Path(f"/proc/{process.pid}/cmdline").read_text().rstrip("\0").split("\0")
        return cls(plane=plane, argv=argv)

    def tend(self) -> None:
        """Start them if they have ended."""
        if daemon.find(control_plane.CONTROLLERS, folder=self.plane.state) is None:
            daemon.start(control_plane.CONTROLLERS, self.argv, folder=self.plane.state)
