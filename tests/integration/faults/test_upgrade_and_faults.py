"""The short form of `make upgrade-test` and `make faults`: an upgrade under way, and then two of the faults."""

import pytest

from tests.integration.faults.campaign import Campaign
from tests.integration.faults.conftest import Upgraded
from tests.integration.faults.installation import Installation

pytestmark = pytest.mark.long


def test_an_upgrade_loses_nothing_and_repeats_nothing(upgraded: Upgraded) -> None:
    if upgraded.wrong is None:
        pytest.skip("the repository lacks the commit of the previous release")
    assert upgraded.wrong == []
    assert upgraded.ticks >= 2


@pytest.mark.parametrize("disruption", ["requests: all kinds", "operator killed"])
def test_a_run_under_a_fault_ends_as_one_without(installation: Installation, disruption: str) -> None:
    ended = Campaign(installation=installation, seed="1").disrupt(disruption)
    assert (ended.lost, ended.repeated) == ([], [])
