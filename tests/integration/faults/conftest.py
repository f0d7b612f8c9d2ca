"""One installation for all tests of this folder, since its start takes longest."""

from collections.abc import Iterator

import pytest

from tests.integration.archive import databases
from tests.integration.faults.campaign import Campaign
from tests.integration.faults.environment import open_installation, open_plane
from tests.integration.faults.installation import ProcessInstallation


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessInstallation]:
    """An installation with SQLite, on a control plane of its own."""
    folder = tmp_path_factory.mktemp("installation")
    database = databases.make(None, "archive", folder)
    with open_plane(folder / "plane") as plane, open_installation(plane, folder, database) as installed:
        Campaign(installation=installed, seed="tests").warm_up()
        yield installed
