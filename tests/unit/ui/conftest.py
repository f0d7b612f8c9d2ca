"""The page's server in front of a made-up cluster."""

from collections.abc import AsyncIterator

import pytest

from tests.support.made_up_cluster import MadeUpApi, serve
from tests.support.page_server.browser import Browser, endpoint, opened_page


@pytest.fixture
async def cluster() -> AsyncIterator[MadeUpApi]:
    async with serve(MadeUpApi()) as api:
        api.add_namespaces("data", "ml")
        yield api


@pytest.fixture
async def page(cluster: MadeUpApi) -> AsyncIterator[Browser]:
    """The page of the administrator."""
    async with opened_page(endpoint(cluster, "admin-token")) as browser:
        yield browser
