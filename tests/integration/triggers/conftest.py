"""Real servers, one of each a session; a test that stops one starts it again."""

from collections.abc import Iterator

import pytest

from tests.integration.triggers.servers import postgres as postgres_server
from tests.integration.triggers.servers.postgres import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server with one user, who has a password."""
    with postgres_server.started() as server:
        yield server
