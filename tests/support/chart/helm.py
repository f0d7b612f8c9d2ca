"""Helm and the chart, for tests: one build of the program, and one chart for each process of tests."""

import json
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from torpor_chart import chart
from torpor_dev.offline import golang

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def helm() -> Path:
    """The program, built once from its sources."""
    return golang.build(golang.HELM)


@cache
def folder() -> Path:
    """The chart of this checkout."""
    path = Path(tempfile.mkdtemp(prefix="torpor-chart-")) / "torpor"
    chart.write(path)
    return path


def run(
    *words: str | Path, environment: Mapping[str, str] | None = None, limit: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run Helm, with a home of its own so that it reads no configuration of this machine."""
    home = folder().parent
    own = {"PATH": "/usr/bin:/bin", "HOME": str(home), "HELM_DRIVER": "secret"}
    return subprocess.run(
        [helm(), *words], env={**own, **(environment or {})}, capture_output=True, text=True, check=False, timeout=limit
    )


def template(
    values: Mapping[str, Any] | None = None, *, namespace: str = "torpor-system"
) -> subprocess.CompletedProcess[str]:
    """Render the chart with these values."""
    given = folder().parent / "given.json"
    given.write_text(json.dumps(values or {}))
    return run("template", "torpor", folder(), "--namespace", namespace, "--values", given, "--kube-version", "1.35")


def rendered(values: Mapping[str, Any] | None = None, *, namespace: str = "torpor-system") -> list[dict[str, Any]]:
    """The objects that Helm would install."""
    done = template(values, namespace=namespace)
    assert done.returncode == 0, done.stderr
    return [body for body in yaml.load_all(done.stdout, LOADER) if body]
