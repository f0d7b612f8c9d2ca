"""krew installs the plugin from the manifest of a release."""

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest
from torpor_dev import command
from torpor_dev.console import CommandError
from torpor_dev.offline import golang
from torpor_release import packages

pytestmark = [
    pytest.mark.integration,
    pytest.mark.long,
    pytest.mark.skipif(not golang.built(golang.KREW), reason="krew is not built: make tools"),
]
PROGRAM = b"#!/bin/sh\necho torpor of the archive\n"


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A folder with archives of a small program, and the files that name them."""
    folder = tmp_path / "files"
    folder.mkdir()
    for name in packages.PLATFORMS:
        with tarfile.open(folder / packages.archive_name(name), "w:gz") as tar:
            for member, content, mode in (("torpor", PROGRAM, 0o755), ("LICENSE", b"Apache-2.0\n", 0o644)):
                info = tarfile.TarInfo(member)
                info.size, info.mode = len(content), mode
                tar.addfile(info, io.BytesIO(content))
    packages.write(folder, "https://downloads.example.org/v1")
    return folder


def install(released: Path, root: Path) -> None:
    """Install from the manifest and the archive for this machine, without a download."""
    env = {**os.environ, "KREW_ROOT": str(root), "KREW_OS": "linux", "KREW_ARCH": "amd64", "KREW_NO_UPGRADE_CHECK": "1"}
    archive = released / packages.archive_name("linux-amd64")
    words = ("install", f"--manifest={released / 'torpor.yaml'}", f"--archive={archive}")
    command.run(golang.build(golang.KREW), *words, limit=300, env=env)


def test_krew_installs_the_plugin_from_the_archive(released: Path, tmp_path: Path) -> None:
    install(released, tmp_path / "krew")
    plugin = tmp_path / "krew/bin/kubectl-torpor"
    printed = subprocess.run([plugin], capture_output=True, text=True, check=True)
    assert printed.stdout == "torpor of the archive\n"


@pytest.mark.attack
def test_krew_refuses_an_archive_that_was_changed(released: Path, tmp_path: Path) -> None:
    archive = released / packages.archive_name("linux-amd64")
    archive.write_bytes(released.joinpath(packages.archive_name("darwin-arm64")).read_bytes() + b"\0")
    with pytest.raises(CommandError, match="checksum"):
        install(released, tmp_path / "krew")
