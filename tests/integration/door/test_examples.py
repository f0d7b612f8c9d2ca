"""The examples of docs/workflows.md are let in by schema and door."""

import pytest

from tests.integration.conftest import Server
from tests.unit.architecture.test_workflows_page import EXAMPLES, spec


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_let_in(server: Server, namespace: str, example: str) -> None:
    body = {"apiVersion": "torpor.dev/v1alpha1", "kind": "Workflow", "metadata": {"name": "run"}, "spec": spec(example)}
    server.create("workflows", namespace, body).expect(201)
