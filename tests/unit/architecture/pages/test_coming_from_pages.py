"""The translations in docs/coming-from are Workflows that can run, and each page translates a schedule.

test_docs_examples validates the templates and Schedules.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_crds.models import workflow
from torpor_operator.graph import dag

from tests.unit.architecture.test_docs_examples import unknown

_PAGES = sorted((Path(__file__).resolve().parents[4] / "docs/coming-from").glob("*.md"))
_OBJECTS = [
    (page.stem, body)
    for page in _PAGES
    for block in re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    for body in yaml.safe_load_all(block)
    if body["apiVersion"].startswith("torpor.dev/")
]
WORKFLOWS = [body for _, body in _OBJECTS if body["kind"] == "Workflow"]


def test_each_page_has_a_translation() -> None:
    assert len(WORKFLOWS) == 3


def test_each_page_translates_a_schedule() -> None:
    pages = [page for page, body in _OBJECTS if body["kind"] == "Schedule"]
    assert pages == ["airflow", "argo", "tekton"]


@pytest.mark.parametrize("body", WORKFLOWS, ids=lambda body: body["metadata"]["generateName"])
def test_a_translation_can_run(body: dict[str, Any]) -> None:
    parsed = workflow.parse({**body, "metadata": {"name": "x", "namespace": "y", "uid": "z"}}).spec
    assert unknown(body["spec"], parsed.model_dump(by_alias=True)) == []
    assert isinstance(dag.build(parsed), dag.Graph)
