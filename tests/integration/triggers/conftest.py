"""Real servers, one of each a session; a test that stops one starts it again."""

from collections.abc import Iterator

import pytest

from tests.integration.triggers.servers import postgres as postgres_server
from tests.integration.triggers.servers import redis_server
from tests.integration.triggers.servers import s3 as s3_server
from tests.integration.triggers.servers.postgres import Postgres
from tests.integration.triggers.servers.redis_server import RedisServer
from tests.integration.triggers.servers.s3 import S3


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server with one user, who has a password."""
    with postgres_server.started() as server:
        yield server


@pytest.fixture(scope="session")
def redis() -> Iterator[RedisServer]:
    """A Redis server that asks for a password."""
    with redis_server.started() as server:
        yield server


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    """An S3 server with one bucket."""
    with s3_server.started() as server:
        yield server
