"""A run whose tasks have logs."""

from collections.abc import Callable

import pytest

from tests.support.fake_cluster import FakeCluster, Object


@pytest.fixture
def run(cluster: FakeCluster) -> Object:
    return cluster.workflow("ingest", "drop", "load")


@pytest.fixture
def load(cluster: FakeCluster, run: Object) -> Callable[..., Object]:
    return lambda *path, **status: cluster.taskrun("ingest", "load", *path, **status)
