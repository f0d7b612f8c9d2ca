"""The files of `source`: their hash, and what a task can import."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from torpor.runtime import environment
from torpor.runtime.environment import Launch, LaunchError
from torpor_wire import constants

if TYPE_CHECKING:
    from pathlib import Path


def mounted(folder: Path, files: dict[str, str], version: str = "..2026_11_22") -> Path:
    """A ConfigMap as a kubelet mounts it: links to `..data`, a link to a folder with the files."""
    (folder / version).mkdir(parents=True)
    for name, content in files.items():
        (folder / version / name).write_text(content)
        (folder / name).symlink_to(f"..data/{name}")
    (folder / "..data").symlink_to(version)
    return folder


FILES = {"load.py": "def load(): pass\n", "table.csv": "a,b\n"}


def test_the_hash_is_that_of_names_and_contents(tmp_path: Path) -> None:
    digest = environment.source_hash(str(mounted(tmp_path / "one", FILES)))

    assert digest == environment.source_hash(str(mounted(tmp_path / "two", dict(reversed(FILES.items())), "..later")))
    assert digest.startswith("sha256:")
    assert len(digest) == 23
    others = [
        {**FILES, "load.py": "def load(): return 1\n"},
        {"load.py": FILES["load.py"]},
        {"load.py": FILES["load.py"], "other.csv": FILES["table.csv"]},
        {"load.py": FILES["load.py"] + FILES["table.csv"], "table.csv": ""},
    ]
    digests = {environment.source_hash(str(mounted(tmp_path / f"other{n}", files))) for n, files in enumerate(others)}
    assert len(digests | {digest}) == 5


def test_the_hash_is_a_promise_of_the_api(tmp_path: Path) -> None:
    assert environment.source_hash(str(mounted(tmp_path / "one", {"a.py": "1\n"}))) == "sha256:668e8ee19218694e"


LAUNCH = Launch("ns", "run-a", "uid", "2023-11-14T22:13:00Z", 1, 0, 0, None, "run-a-a1-s0", "pod-uid", "nonce")


def test_the_folder_comes_first_in_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/app", *sys.path])
    folder = str(mounted(tmp_path / "one", FILES))

    launch = environment.with_source(LAUNCH, {constants.ENV_SOURCE: folder})

    assert launch.source == environment.source_hash(folder)
    assert sys.path[:2] == [folder, "/app"]


def test_a_task_without_files_keeps_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/app"])

    assert environment.with_source(LAUNCH, {}) == LAUNCH
    assert sys.path == ["/app"]


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="the files of source cannot be read"):
        environment.with_source(LAUNCH, {constants.ENV_SOURCE: str(tmp_path / "missing")})
