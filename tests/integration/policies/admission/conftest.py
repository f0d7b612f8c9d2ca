"""A TaskRun that waits for an approval, and two approvers."""

import pytest

from tests.integration.conftest import Server, eventually
from tests.integration.policies.admission.person import Desk


@pytest.fixture
def desk(server: Server, namespace: str) -> Desk:
    made = Desk(server, namespace)
    eventually(lambda: "torpor-approval" in made.begins("approved").message, "the policy is in force")
    mistaken = {"torpor.dev/no-such": ""}
    eventually(lambda: made.changes(None, annotations=mistaken, dry=True).status == 422, "and what narrows the right")
    return made
