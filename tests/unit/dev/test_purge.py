"""`cluster-down --purge` removes the caches, and names what it cannot remove."""

import os
import subprocess
import sys
from pathlib import Path

_DEV = Path(__file__).resolve().parents[3] / "dev"


def test_images_of_an_engine_that_does_not_run_are_named(tmp_path: Path) -> None:
    docker = tmp_path / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text("#!/bin/sh\nexit 1\n")
    docker.chmod(0o755)
    (tmp_path / "cache" / "torpor" / "images").mkdir(parents=True)
    environment = {
        "PATH": f"{docker.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PYTHONPATH": str(_DEV),
    }
    ended = subprocess.run(
        [sys.executable, "-m", "torpor_dev", "cluster-down", "--purge"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "no Docker engine answers, so its images torpor-dev/* stay" in ended.stderr
    assert not (tmp_path / "cache" / "torpor").exists()
