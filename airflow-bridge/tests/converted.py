"""Converts the text of a DAG file."""

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_airflow import __main__ as command


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedFile:
    """The exit code, the documents by name and kind, and the report of `torpor from-airflow`."""

    code: int
    documents: dict[tuple[str, str], dict[str, Any]]
    report: str

    def schedule(self, name: str) -> dict[str, Any]:
        """Return the spec of a Schedule."""
        spec: dict[str, Any] = self.documents[name, "Schedule"]["spec"]
        return spec

    def tasks(self, name: str) -> dict[str, dict[str, Any]]:
        """Return the tasks of a template by their names."""
        template = self.documents[name, "WorkflowTemplate"]
        return {task["name"]: task for task in template["spec"]["workflow"]["tasks"]}


def convert_file(*paths: Path, options: Sequence[str] = ("--in-image",)) -> ConvertedFile:
    """Run `torpor from-airflow` for files."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = command.main(["convert", *options, *map(str, paths)])
    documents = {(each["metadata"]["name"], each["kind"]): each for each in yaml.safe_load_all(out.getvalue())}
    return ConvertedFile(code=code, documents=documents, report=err.getvalue())


def convert_text(folder: Path, name: str, text: str, options: Sequence[str] = ("--in-image",)) -> ConvertedFile:
    """Write a DAG file, and convert it. No other test has a file of this name."""
    path = folder / f"{name}.py"
    path.write_text(text)
    return convert_file(path, options=options)
