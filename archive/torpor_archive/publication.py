"""Where the archive is, and how it is known to be it.

Its key pair is in a Secret, so that replicas share it, its address and certificate in a ConfigMap, for the operator to
hand to task pods. Both are installed empty and filled by whichever replica is first: no role needs to create Secrets.
"""

import base64
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from torpor_api import errors
from torpor_api.api import Api
from torpor_api.resources import CONFIG_MAPS, Resource

from torpor_archive import certificate
from torpor_archive.certificate import Pair

NAME = "torpor-archive"
URL, AUTHORITY = "url", "ca.crt"
SECRETS = Resource(group="", version="v1", plural="secrets", kind="Secret")
_KEY, _CERTIFICATE = "tls.key", "tls.crt"

log = logging.getLogger(__name__)


class Publication:
    """The Secret and the ConfigMap `torpor-archive` of one namespace."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace

    async def pair(self, host: str) -> Pair:
        """The pair that all replicas serve with; made where there is none for this host. Raises errors.ApiError."""
        found: Mapping[str, Any] = await self._api.get(SECRETS, self._namespace, NAME)
        now = datetime.fromtimestamp(self._api.clock.now(), UTC)
        stands = _read(found)
        if stands is not None and certificate.serves(stands, host, now):
            return stands
        return await self._make(host, now, str(found["metadata"]["resourceVersion"]))

    async def publish(self, url: str, authority: str) -> None:
        """Let everybody know. Raises errors.ApiError."""
        said = {URL: url, AUTHORITY: authority}
        found = await self._api.get(CONFIG_MAPS, self._namespace, NAME)
        if found.get("data") != said:
            ops = [{"op": "add", "path": "/data", "value": said}]
            await self._api.patch(CONFIG_MAPS, self._namespace, NAME, ops)
            log.info("published %s", url)

    async def _make(self, host: str, now: datetime, version: str) -> Pair:
        made = certificate.make(host, now)
        data = {_KEY: _encoded(made.key), _CERTIFICATE: _encoded(made.certificate)}
        ops: list[dict[str, Any]] = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/data", "value": data},
        ]
        try:
            await self._api.patch(SECRETS, self._namespace, NAME, ops)
        except (errors.LostRace, errors.Conflict):
            log.info("another replica made the certificate")
            return await self.pair(host)
        log.info("made a certificate for %s", host)
        return made


def _read(secret: Mapping[str, Any]) -> Pair | None:
    data = secret.get("data") or {}
    try:
        return Pair(key=_decoded(data[_KEY]), certificate=_decoded(data[_CERTIFICATE]))
    except (KeyError, ValueError):
        return None


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decoded(text: str) -> str:
    return base64.b64decode(text, validate=True).decode()
