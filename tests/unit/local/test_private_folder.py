"""The folder of the sockets of a run goes with it, or with the next run if it was killed."""

import subprocess
import sys
from pathlib import Path

import pytest
from torpor_local import private_folder

KILLED = """
import os, sys
from torpor_local import private_folder
with private_folder.create() as path:
    print(path, flush=True)
    os._exit(9)
"""


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_private_and_goes_with_the_run(parent: Path) -> None:
    with private_folder.create() as path:
        assert (path.parent, path.stat().st_mode & 0o777) == (parent, 0o700)
    assert list(parent.iterdir()) == []


def test_the_folder_of_a_killed_run_is_removed_by_the_next(parent: Path) -> None:
    environment = {"TMPDIR": str(parent)}
    ended = subprocess.run([sys.executable, "-c", KILLED], env=environment, capture_output=True, text=True, check=False)
    left = Path(ended.stdout.strip())
    assert (ended.returncode, left.parent, left.is_dir()) == (9, parent, True), ended.stderr
    with private_folder.create():
        assert not left.exists()


def test_folders_in_use_and_other_folders_stay(parent: Path) -> None:
    (parent / "torpor-other").mkdir()
    (parent / "elsewhere").mkdir()
    (parent / "elsewhere" / "run.lock").touch()
    (parent / "torpor-link").symlink_to(parent / "elsewhere")
    with private_folder.create() as first, private_folder.create() as second:
        assert (first.is_dir(), second.is_dir()) == (True, True)
    assert sorted(path.name for path in parent.iterdir()) == ["elsewhere", "torpor-link", "torpor-other"]
    assert (parent / "elsewhere" / "run.lock").exists()
