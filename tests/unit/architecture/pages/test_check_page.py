"""The page about `torpor lint` shows what the command prints."""

import re
from pathlib import Path

import pytest
from torpor_cli.__main__ import main

_PAGE = (Path(__file__).resolve().parents[4] / "docs" / "how-to" / "check-a-workflow.md").read_text()


def block(fence: str) -> str:
    match = re.search(rf"^```{fence}\n(.*?)^```$", _PAGE, re.MULTILINE | re.DOTALL)
    assert match is not None
    return match[1]


def test_the_page_shows_the_output_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nightly.yaml").write_text(block('yaml title="nightly.yaml"'))
    assert main(["lint", "nightly.yaml"]) == 1
    out, err = capsys.readouterr()
    assert block("console") == f"$ torpor lint nightly.yaml\n{out}{err}"
