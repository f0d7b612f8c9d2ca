"""The workflows of the documentation that are written in Python build what the pages say."""

import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor.authoring import Workflow

from tests.unit.cli.linting.findings import lint

_DOCS = Path(__file__).parents[4] / "docs"
_TASKS = """
from torpor import task

@task
def list_files(day: str) -> list[str]: ...

@task
def load(path: str) -> int: ...

@task
def report(rows: list[int]) -> None: ...
"""


@pytest.fixture(autouse=True)
def tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module that the pages import."""
    module = types.ModuleType("ingest.tasks")
    exec(_TASKS, vars(module))
    monkeypatch.setitem(sys.modules, "ingest.tasks", module)


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (_DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


def built(page: str) -> Any:
    """The first workflow function of a page."""
    (text, *_) = [block for block in blocks(page, "python") if "@workflow" in block]
    names: dict[str, Any] = {}
    exec(text, names)
    (flow,) = [value for value in names.values() if isinstance(value, Workflow)]
    return flow()


def test_the_translation_of_the_dag_is_the_workflow_of_the_page() -> None:
    (written, *_) = [yaml.safe_load(block) for block in blocks("coming-from/airflow.md", "yaml")]
    assert built("coming-from/airflow.md") == written


def test_the_example_of_the_guide_is_valid() -> None:
    assert not lint(built("how-to/write-a-workflow-in-python.md"))
