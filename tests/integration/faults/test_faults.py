"""The short form of `make faults`: a kill after a write, and faults of requests."""

import pytest

from tests.integration.faults.campaign import Campaign
from tests.integration.faults.installation import ProcessInstallation

pytestmark = pytest.mark.long


@pytest.mark.parametrize("disruption", ["requests: all kinds", "operator killed"])
def test_a_run_under_a_fault_ends_as_one_without(installation: ProcessInstallation, disruption: str) -> None:
    ended = Campaign(installation=installation, seed="1").disrupt(disruption)
    assert (ended.lost, ended.repeated) == ([], [])
