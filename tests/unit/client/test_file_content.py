"""A stored folder is written within its limit, also what follows the end of its archive."""

import gzip
import hashlib
import io
import tarfile
from pathlib import Path

import pytest
from torpor_client.errors import UserError
from torpor_client.runs import file_content

CONTENT = b"text"


def packed(following: int = 0) -> bytes:
    """A compressed folder with one file, and zeros after its end."""
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w") as tar:
        entry = tarfile.TarInfo("x")
        entry.size = len(CONTENT)
        tar.addfile(entry, io.BytesIO(CONTENT))
    return gzip.compress(into.getvalue() + bytes(following), 1)


def write(body: bytes, target: Path) -> None:
    described = {"kind": "folder+gzip", "digest": hashlib.sha256(body).hexdigest()}
    file_content.write(iter([body]), described, target)


def test_a_compressed_folder_is_written(tmp_path: Path) -> None:
    write(packed(following=100_000), tmp_path / "in")
    assert (tmp_path / "in/x").read_bytes() == CONTENT


@pytest.mark.attack
def test_what_follows_a_folder_counts_for_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_content, "UNPACKED_MAX", 1_000_000)
    with pytest.raises(UserError, match="is followed by more than"):
        write(packed(following=4_000_000), tmp_path / "in")
