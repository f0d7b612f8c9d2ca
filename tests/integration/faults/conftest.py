"""One installation for all tests of this folder, upgraded from the previous release: its start takes longest."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.integration.archive import databases
from tests.integration.faults.environment import open_installation, open_plane
from tests.integration.faults.installation import Installation
from tests.integration.faults.release import CURRENT
from tests.integration.upgrade import previous_release
from tests.integration.upgrade.upgrade import Upgrade


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgraded:
    """An installation of this version. `wrong` is what its upgrade lost or repeated, or None without an upgrade."""

    installation: Installation
    wrong: list[str] | None
    ticks: int


@pytest.fixture(scope="session")
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


@pytest.fixture
def installation(upgraded: Upgraded) -> Installation:
    """The installation in this version."""
    return upgraded.installation
