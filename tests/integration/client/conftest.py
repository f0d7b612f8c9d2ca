"""The client connected to the real API server."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from torpor_kubernetes.client import http
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.timing import SystemClock

from tests.integration.conftest import Server


@pytest.fixture
async def api(server: Server, kubeconfig: Path) -> AsyncIterator[Api]:
    """As the administrator, with our kinds installed."""
    del server
    async with http.connect(str(kubeconfig), program="torpor-tests") as transport:
        yield Api(transport, SystemClock())
