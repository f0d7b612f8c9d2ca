"""examples/platform-templates: a product team's run uses the templates of a platform group."""

import json
from pathlib import Path
from typing import Any

import pytest
from torpor_cli.__main__ import main

from tests.e2e.examples import translation

_FOLDER = "platform-templates"
_TABLES = ["orders", "items", "refunds"]


def files(image: str) -> str:
    """The template and the Workflow, as one text."""
    return "".join(translation.manifest(f"{_FOLDER}/{name}.yaml", image) for name in ("platform", "orders"))


def result(rows: int) -> dict[str, Any]:
    """The result of a run that loads so many rows of each table."""
    tables = [{"table": table, "rows": rows, "check": f"{table} is complete"} for table in _TABLES]
    return {"tables": tables, "check": "orders is complete"}


def test_the_example_runs_without_a_cluster(
    image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.yaml").write_text(files(image))
    code = main(["run", "run.yaml", "-p", "rows=7", "-o", "json", "--folder", "run"])
    out, err = capfd.readouterr()
    assert code == 0, err
    results = json.loads(out)["results"]
    assert {"tables": results["publish"], "check": results["check"]} == result(7)
