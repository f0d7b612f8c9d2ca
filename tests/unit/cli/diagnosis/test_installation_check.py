"""Which installation serves a namespace, as `torpor doctor` says."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from torpor_cli.diagnosis import namespace_checks
from torpor_cli.diagnosis.facts import Status

from tests.unit.cli.diagnosis.healthy import HEALTHY


@pytest.mark.parametrize(
    ("holder", "age", "status", "said"),
    [
        ("torpor-system", 10, Status.OK, "the installation in torpor-system serves"),
        ("torpor-b", 10, Status.WARNING, "the installation in torpor-b serves namespace"),
        ("torpor-b", 90, Status.OK, "has expired"),
    ],
    ids=["ours", "of another one", "of one that is gone"],
)
def test_the_check_says_which_installation_serves_the_namespace(
    holder: str, age: float, status: Status, said: str
) -> None:
    renewed = datetime.fromtimestamp(HEALTHY.server_time - age, UTC).isoformat()
    held = {"spec": {"holderIdentity": holder, "renewTime": renewed}}
    (result,) = namespace_checks.installation(replace(HEALTHY, installation=held))
    assert (result.status, said in result.message) == (status, True)
    assert ("TORPOR_SYSTEM_NAMESPACE=torpor-b" in result.action) == (status is Status.WARNING)
