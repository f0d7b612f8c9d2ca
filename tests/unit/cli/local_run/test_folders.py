"""Folders and names of local runs."""

import re
from pathlib import Path

import pytest
from torpor_cli.errors import CliError
from torpor_cli.local_run import folders


def test_a_run_keeps_its_name_and_else_gets_one_as_the_api_server_makes_it() -> None:
    assert folders.named({"metadata": {"name": "x"}})["metadata"] == {"name": "x"}
    metadata = folders.named({"metadata": {"generateName": "ingest-", "labels": {"a": "b"}}})["metadata"]
    assert re.fullmatch(r"ingest-[bcdfghjklmnpqrstvwxz2456789]{5}", metadata["name"])
    assert metadata["labels"] == {"a": "b"}
    assert "generateName" not in metadata


def test_each_run_gets_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    created = [str(folders.create("x", None)) for _ in range(3)]
    assert created == [".torpor/runs/x", ".torpor/runs/x-2", ".torpor/runs/x-3"]
    assert Path(".torpor/.gitignore").read_text() == "*\n"


def test_a_chosen_folder_is_used_as_it_is(tmp_path: Path) -> None:
    chosen = tmp_path / "a" / "b"
    assert folders.create("x", str(chosen)) == chosen
    assert folders.create("x", str(chosen)) == chosen


def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CliError, match=r"cannot be created: .*; choose a --folder"):
        folders.create("x", str(tmp_path / "file" / "run"))
