"""The key pair of a pool: what a task seals with the public half, the pool's triggerers open with the private one.

Both stand beside the Leases, in a Secret and a ConfigMap that are installed empty: whichever replica is first fills
them, so that no pool needs the right to create Secrets. The operator hands the public half to task pods. Nothing here
shows the private half, nor what was sealed.
"""

import base64
import itertools
import logging
from collections.abc import Mapping
from typing import Any, TypeAlias

from torpor import sealing
from torpor.sealing import Pair, SealError
from torpor_api.client import errors
from torpor_api.client.api import Api
from torpor_api.client.resources import CONFIG_MAPS, SECRETS
from torpor_wire import constants
from torpor_wire.backoff import Backoff
from torpor_wire.reason import Reason

from torpor_triggerer.model.outcome import Failed
from torpor_triggerer.secrets.reader import Missing
from torpor_triggerer.settings import Settings

PRIVATE, PUBLIC = "privateKey", constants.SEAL_DATA
RETRY = Backoff(first=1.0, cap=300.0, jitter=0.0)
LOOK_AGAIN = 10.0
"""A pair is read again for a box that does not open, but not more often than this many seconds."""

Opened: TypeAlias = dict[str, Any] | Missing | Failed

log = logging.getLogger(__name__)


class Seals:
    """One pool's pair, and what is opened with it."""

    def __init__(self, api: Api, settings: Settings) -> None:
        self._api = api
        self._clock = api.clock
        self._namespace = settings.namespace
        self._pool = settings.pool
        self._pair: Pair | None = None
        self._read_at = float("-inf")

    async def run(self) -> None:
        """Make the pair or read it, and publish its public half; until that is done."""
        for failures in itertools.count(1):
            try:
                await self._publish(await self._fetch())
            except SealError as error:
                log.warning("nothing can be sealed to pool %s: %s", self._pool, error)
                return
            except errors.ApiError as error:
                log.warning("nothing can be sealed to pool %s yet: %s", self._pool, error.message)
                await self._clock.sleep(RETRY.delay(failures))
            except Exception:
                log.exception("nothing can be sealed to pool %s", self._pool)
                return
            else:
                return

    async def open(self, class_name: str, kwargs: Mapping[str, Any], namespace: str) -> Opened:
        """The kwargs with what was sealed for this class and namespace opened, under the names that it knows."""
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
            return Missing(message=f"the key of pool {self._pool} cannot be read: {error.message}")

    @property
    def _name(self) -> str:
        return f"torpor-seal-{self._pool}"

    async def _fetch(self) -> Pair:
        """The pool's pair; made where there is none. That another made it at the same time is no error."""
        found: Mapping[str, Any] = await self._api.get(SECRETS, self._namespace, self._name)
        if not found.get("data"):
            found = await self._make(found["metadata"]["resourceVersion"])
        self._pair = Pair(public=_decoded(found, PUBLIC), private=_decoded(found, PRIVATE))
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
            made = await self._api.patch(SECRETS, self._namespace, self._name, ops)
        except (errors.LostRace, errors.Conflict):
            return await self._api.get(SECRETS, self._namespace, self._name)
        log.info("made the key pair of %s, id %s", self._name, sealing.key_id(pair.public))
        return made

    async def _publish(self, pair: Pair) -> None:
        stands = await self._api.get(CONFIG_MAPS, self._namespace, self._name)
        if (stands.get("data") or {}).get(PUBLIC) != pair.public:
            ops = [{"op": "add", "path": "/data", "value": {PUBLIC: pair.public}}]
            await self._api.patch(CONFIG_MAPS, self._namespace, self._name, ops)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decoded(secret: Mapping[str, Any], key: str) -> str:
    """What stands under a key. Raises SealError where it is no text, since somebody wrote over it."""
    try:
        return base64.b64decode((secret.get("data") or {})[key], validate=True).decode()
    except (KeyError, TypeError, ValueError):
        raise SealError(f"the Secret of the pool's key pair has no {key}") from None
