"""A cluster with Torpor and the tests' image in it, as `make demo` installs it, and a namespace for each test.

All tests and fixtures share one event loop: the runs of `busy_stage` go on while other tests read theirs.
"""

import os
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from torpor_demo import cluster, images
from torpor_demo.images import Image, image_id
from torpor_demo.install import SYSTEM, apply, install, prepare, roll_out
from torpor_demo.kubectl import Kubectl
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.http import connect
from torpor_kubernetes.timing import SystemClock

from tests.e2e.support.concurrent_runs import CONCURRENT_RUNS
from tests.e2e.support.stage import ClusterFixture
from tests.support.users import Users

_HERE = Path(__file__).parent
_POOL = "deployment/torpor-triggerer-e2e"
TASKS = Image(name="torpor-e2e:dev", context=_HERE, dockerfile="image/Dockerfile")
PLAIN = Image(name="torpor-e2e-plain:dev", context=_HERE / "plain", based=True)
TRIGGERS = Image(name="torpor-triggerer-e2e:dev", context=_HERE / "pool")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = f"{_HERE}{os.sep}"
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.e2e)
            if pytest_asyncio.is_async_test(item):
                item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture(scope="session")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """The cluster with everything installed, once for all processes of a test run."""
    users = Users.of_run(tmp_path_factory, "cluster")
    with users.joined() as first:
        kubectl = _installed() if first else Kubectl(cluster.ensure())
    yield kubectl
    with users.left() as last:
        if last:
            kubectl.run("delete", "-n", SYSTEM, _POOL, "--wait=false", "--ignore-not-found")


def _installed() -> Kubectl:
    kubectl = install([*images.ALL, TASKS, PLAIN, TRIGGERS])
    # What carries the tests' own trigger classes is a pool of its own, so that the default one stays as installed.
    apply(kubectl, TRIGGERS.context, image_id(TRIGGERS))
    roll_out(kubectl, _POOL)
    return kubectl


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def api(kubectl: Kubectl) -> AsyncIterator[Api]:
    async with connect(str(kubectl.kubeconfig), program="torpor-e2e") as transport:
        yield Api(transport, SystemClock())


@pytest_asyncio.fixture(loop_scope="session")
async def stage(api: Api, kubectl: Kubectl) -> AsyncIterator[ClusterFixture]:
    """A namespace of the test's own."""
    async with _namespace(api, kubectl) as made:
        yield made


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def busy_stage(api: Api, kubectl: Kubectl) -> AsyncIterator[ClusterFixture]:
    """A namespace where runs that are independent of each other, good and bad, all go on at once."""
    async with _namespace(api, kubectl) as made:
        for name, spec in CONCURRENT_RUNS.items():
            await made.start(name, spec)
        yield made


@asynccontextmanager
async def _namespace(api: Api, kubectl: Kubectl) -> AsyncIterator[ClusterFixture]:
    name = f"e2e-{uuid.uuid4().hex[:8]}"
    prepare(kubectl, name)
    yield ClusterFixture(api, name)
    kubectl.run("delete", "namespace", name, "--wait=false", "--ignore-not-found")
