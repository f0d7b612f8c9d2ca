"""The source of the previous release, from the history of the repository: `dev/release/previous` names its commit."""

import io
import subprocess
import tarfile
from pathlib import Path

from tests.integration.faults.release import ROOT, SourceRelease

RECORD = ROOT / "dev/release/previous"


class MissingReleaseError(Exception):
    """The repository does not have the commit, as in a shallow clone."""


def unpack(target: Path) -> SourceRelease:
    """Unpack the source of the previous release into a folder. Raises MissingReleaseError."""
    version, commit = RECORD.read_text().split()
    archived = subprocess.run(["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=False)
    if archived.returncode:
        raise MissingReleaseError(f"{version}, commit {commit}: {archived.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as files:
        files.extractall(target, filter="data")
    return SourceRelease(root=target, image=f"tests-{version}")
