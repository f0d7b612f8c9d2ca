"""The key pair of a pool: tasks seal values with the public key, the pool's triggerers open them with the private key.

The installation creates an empty Secret and an empty ConfigMap beside the Leases. The first replica fills both, so that
no pool needs the right to create Secrets. The operator passes the public key to task pods. Nothing here logs the
private key or a sealed value.
"""

import base64
import itertools
import logging
from collections.abc import Mapping
from typing import Any, TypeAlias

from torpor import sealing
from torpor.sealing import SealError, SealKeyPair
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import CONFIG_MAPS, SECRETS
from torpor_wire import constants
from torpor_wire.reason import Reason
from torpor_wire.retry import Backoff

from torpor_triggerer.model.outcome import Failed
from torpor_triggerer.secrets.reader import MissingSecret
from torpor_triggerer.settings import Settings

PRIVATE, PUBLIC = "privateKey", constants.SEAL_DATA
RETRY = Backoff(first=1.0, cap=300.0, jitter=0.0)
LOOK_AGAIN = 10.0
"""Seconds between two reads of the pair for values that do not open."""

Opened: TypeAlias = dict[str, Any] | MissingSecret | Failed

log = logging.getLogger(__name__)


class PoolKeys:
    """The key pair of one pool."""

    def __init__(self, api: Api, settings: Settings) -> None:
        self._api = api
        self._clock = api.clock
        self._namespace = settings.namespace
        self._pool = settings.pool
        self._pair: SealKeyPair | None = None
        self._read_at = float("-inf")

    async def run(self) -> None:
        """Create or read the pair, and publish the public key; retry until that succeeds."""
        for failures in itertools.count(1):
            try:
                await self._publish(await self._fetch())
            except SealError as error:
                log.warning("Failed to set up the key pair of pool %s: %s", self._pool, error)
                return
            except errors.ApiError as error:
                log.warning("Failed to set up the key pair of pool %s; retrying: %s", self._pool, error.message)
                await self._clock.sleep(RETRY.delay(failures))
            except Exception:
                log.exception("Failed to set up the key pair of pool %s", self._pool)
                return
            else:
                return

    async def open(self, class_name: str, kwargs: Mapping[str, Any], namespace: str) -> Opened:
        """Open the values that were sealed for this class and namespace."""
        try:
            pair = self._pair or await self._fetch()
            try:
                return sealing.unseal_kwargs(class_name, kwargs, pair.private, namespace)
            except SealError:
                if self._clock.monotonic() - self._read_at < LOOK_AGAIN:
                    raise
                pair = await self._fetch()
                return sealing.unseal_kwargs(class_name, kwargs, pair.private, namespace)
        except SealError as error:
            return Failed(reason=Reason.SEAL_INVALID, message=str(error))
        except errors.ApiError as error:
            return MissingSecret(message=f"failed to read the key pair of pool {self._pool}: {error.message}")

    @property
    def _name(self) -> str:
        return f"torpor-seal-{self._pool}"

    async def _fetch(self) -> SealKeyPair:
        """Read the pool's pair, or create it. Another replica may create it at the same time."""
        secret: Mapping[str, Any] = await self._api.get(SECRETS, self._namespace, self._name)
        if not secret.get("data"):
            secret = await self._make(secret["metadata"]["resourceVersion"])
        self._pair = SealKeyPair(public=_decoded(secret, PUBLIC), private=_decoded(secret, PRIVATE))
        self._read_at = self._clock.monotonic()
        return self._pair

    async def _make(self, version: str) -> Mapping[str, Any]:
        pair = sealing.new_pair()
        data = {PRIVATE: _encoded(pair.private), PUBLIC: _encoded(pair.public)}
        ops: list[dict[str, Any]] = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/data", "value": data},
            {"op": "add", "path": "/immutable", "value": True},
        ]
        try:
            secret = await self._api.patch(SECRETS, self._namespace, self._name, ops)
        except (errors.LostRace, errors.Conflict):
            return await self._api.get(SECRETS, self._namespace, self._name)
        log.info("Created the key pair of %s, id %s", self._name, sealing.key_id(pair.public))
        return secret

    async def _publish(self, pair: SealKeyPair) -> None:
        config_map = await self._api.get(CONFIG_MAPS, self._namespace, self._name)
        if (config_map.get("data") or {}).get(PUBLIC) != pair.public:
            ops = [{"op": "add", "path": "/data", "value": {PUBLIC: pair.public}}]
            await self._api.patch(CONFIG_MAPS, self._namespace, self._name, ops)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decoded(secret: Mapping[str, Any], key: str) -> str:
    """Return a value of the Secret. Raises SealError if it is not text."""
    try:
        return base64.b64decode((secret.get("data") or {})[key], validate=True).decode()
    except (KeyError, TypeError, ValueError):
        raise SealError(f"the Secret of the pool's key pair has no {key}") from None
