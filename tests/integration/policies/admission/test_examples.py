"""The API server admits every object of the documentation and of the folder examples/."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_wire import constants

from tests.integration.conftest import Server
from tests.support.manifests import manifest
from tests.unit.architecture.test_docs_examples import EXAMPLES, OBJECTS

_FOLDER = Path(__file__).resolve().parents[4] / "examples"
_PLURALS = {
    "Workflow": "workflows",
    "WorkflowTemplate": "workflowtemplates",
    "ClusterWorkflowTemplate": "clusterworkflowtemplates",
    "Schedule": "schedules",
    "Backfill": "backfills",
}


def files() -> dict[str, dict[str, Any]]:
    """The objects of Torpor among the examples, by their place."""
    documents = {path: list(yaml.safe_load_all(path.read_text())) for path in sorted(_FOLDER.rglob("*.yaml"))}
    return {
        f"{path.relative_to(_FOLDER)}-{number}": body
        for path, several in documents.items()
        for number, body in enumerate(several, start=1)
        if body["kind"] in _PLURALS
    }


WORKFLOWS = {place: body for place, body in files().items() if "tasks" in body["spec"]}
OTHERS = {place: body for place, body in files().items() if place not in WORKFLOWS}


@pytest.mark.parametrize("place", EXAMPLES)
def test_an_example_is_let_in(server: Server, namespace: str, place: str) -> None:
    body = manifest("Workflow", "run", EXAMPLES[place])
    server.create("workflows", namespace, body, fieldValidation="Strict").expect(201)


@pytest.mark.parametrize("place", WORKFLOWS)
def test_a_workflow_to_be_copied_is_let_in_with_all_its_fields(server: Server, namespace: str, place: str) -> None:
    body = WORKFLOWS[place]
    made = server.create("workflows", namespace, body, fieldValidation="Strict").expect(201)
    assert [task["name"] for task in made["spec"]["tasks"]] == [task["name"] for task in body["spec"]["tasks"]]


@pytest.mark.parametrize("place", [*OBJECTS, *OTHERS])
def test_a_template_schedule_or_backfill_is_admitted_with_all_its_fields(
    server: Server, namespace: str, place: str
) -> None:
    body = {**(OBJECTS | OTHERS)[place], "metadata": {"name": "example"}}
    if body["kind"] == "ClusterWorkflowTemplate":
        path = f"/apis/{constants.API_VERSION}/clusterworkflowtemplates"
        server.request("POST", path, body, fieldValidation="Strict", dryRun="All").expect(201)
    else:
        server.create(_PLURALS[body["kind"]], namespace, body, fieldValidation="Strict").expect(201)
