"""The API server admits every Workflow of the documentation and of the folder examples/."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.conftest import Server
from tests.unit.architecture.test_docs_examples import EXAMPLES

_FOLDER = Path(__file__).resolve().parents[4] / "examples"


def workflows() -> dict[str, dict[str, Any]]:
    """The Workflows among the examples, by their place."""
    found = {path: list(yaml.safe_load_all(path.read_text())) for path in sorted(_FOLDER.rglob("*.yaml"))}
    return {
        str(path.relative_to(_FOLDER)): body
        for path, several in found.items()
        for body in several
        if body["kind"] == "Workflow"
    }


@pytest.mark.parametrize("place", EXAMPLES)
def test_an_example_is_let_in(server: Server, namespace: str, place: str) -> None:
    body = {
        "apiVersion": "torpor.dev/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "run"},
        "spec": EXAMPLES[place],
    }
    server.create("workflows", namespace, body, fieldValidation="Strict").expect(201)


@pytest.mark.parametrize("place", workflows())
def test_a_workflow_to_be_copied_is_let_in_with_all_its_fields(server: Server, namespace: str, place: str) -> None:
    body = workflows()[place]
    made = server.create("workflows", namespace, body, fieldValidation="Strict").expect(201)
    assert [task["name"] for task in made["spec"]["tasks"]] == [task["name"] for task in body["spec"]["tasks"]]
