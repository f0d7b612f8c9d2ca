"""torpor as a user runs it, against a cluster on loopback."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from torpor_cli.__main__ import main

from tests.support.fake_cluster import FakeCluster, Run, fake_cluster


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with fake_cluster() as fake:
        yield fake


@pytest.fixture
def torpor(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Run:
    """Runs a command: exit code, standard output, standard error."""
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig(tmp_path)))
    monkeypatch.setenv("NO_PROXY", "*")

    def run(*arguments: str) -> tuple[int, str, str]:
        capfdbinary.readouterr()
        code = main(list(arguments))
        sys.stdout.flush()
        sys.stderr.flush()
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run
