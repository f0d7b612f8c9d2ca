"""A source tree whose components run as processes: this one, or that of a former release."""

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
_PACKAGES = ("operator", "triggerer", "archive", "crds", "local", "worker-image", "libraries/*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRelease:
    """`image` is the name that Workflows use to get the worker of this release."""

    root: Path
    image: str

    @property
    def python_path(self) -> str:
        """The packages of this release before those that are installed, and the modules of these tests."""
        folders = [path for pattern in _PACKAGES for path in sorted(self.root.glob(pattern)) if path.is_dir()]
        return os.pathsep.join(map(str, [*folders, ROOT]))

    @property
    def operator_flags(self) -> list[str]:
        """The flags of an operator beside others on one machine. v0.1.0 has no port of metrics."""
        settings = self.root / "operator/torpor_operator/settings.py"
        return ["--metrics-port", "0"] if "metrics_port" in settings.read_text() else []

    @property
    def manifest(self) -> str:
        """All objects of its installation, as YAML."""
        return (self.root / "manifests/install.yaml").read_text()


CURRENT = SourceRelease(root=ROOT, image="tests")
