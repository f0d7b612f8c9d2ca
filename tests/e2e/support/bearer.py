"""The API server as the bearer of some token sees it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from torpor_demo.kubectl import Kubectl
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.http import connect
from torpor_kubernetes.timing import SystemClock


@asynccontextmanager
async def bearer(kubectl: Kubectl, token: str, path: Path) -> AsyncIterator[Api]:
    """The API with this token and no other credentials; its kubeconfig is written to `path`."""
    async with connect(_kubeconfig(kubectl, token, path), program="torpor-e2e-bearer") as transport:
        yield Api(transport, SystemClock())


def _kubeconfig(kubectl: Kubectl, token: str, path: Path) -> str:
    config: dict[str, Any] = json.loads(kubectl.run("config", "view", "--raw", "--minify", "-o", "json"))
    config["users"] = [{"name": config["contexts"][0]["context"]["user"], "user": {"token": token}}]
    path.write_text(json.dumps(config))
    return str(path)
