"""The short form of `make upgrade-test` and `make faults`: an upgrade under way, and then a few faults.

All tests share one installation, since its start takes longer than each of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.integration.archive import databases
from tests.integration.faults.campaign import Campaign
from tests.integration.faults.environment import open_installation, open_plane
from tests.integration.faults.installation import Installation
from tests.integration.faults.release import CURRENT
from tests.integration.upgrade import previous_release
from tests.integration.upgrade.upgrade import Upgrade

pytestmark = pytest.mark.long


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgraded:
    """An installation of this version. `wrong` is what its upgrade lost or repeated, or None without an upgrade."""

    installation: Installation
    wrong: list[str] | None
    ticks: int


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    """An installation that was upgraded from the previous release, if the repository has that."""
    folder = tmp_path_factory.mktemp("upgraded")
    try:
        previous = previous_release.unpack(folder / "previous")
    except previous_release.MissingReleaseError:
        previous = CURRENT
    database = databases.make(None, "archive", folder)
    with (
        open_plane(folder / "plane", previous) as plane,
        open_installation(plane, folder, database, release=previous) as installation,
    ):
        if previous is CURRENT:
            yield Upgraded(installation=installation, wrong=None, ticks=0)
            return
        upgrade = Upgrade.begin(installation, previous, rest=0.5)
        upgrade.forward()
        wrong = upgrade.finish()
        yield Upgraded(installation=installation, wrong=wrong, ticks=upgrade.flight.ticks)


def test_an_upgrade_loses_nothing_and_repeats_nothing(upgraded: Upgraded) -> None:
    if upgraded.wrong is None:
        pytest.skip("the repository lacks the commit of the previous release")
    assert upgraded.wrong == []
    assert upgraded.ticks >= 2


@pytest.mark.parametrize("disruption", ["requests: all kinds", "operator killed", "triggerer killed", "etcd killed"])
def test_a_run_under_a_fault_ends_as_one_without(upgraded: Upgraded, disruption: str) -> None:
    campaign = Campaign(installation=upgraded.installation, seed="1")
    ended = campaign.disrupt(disruption)
    assert (ended.lost, ended.repeated) == ([], [])
