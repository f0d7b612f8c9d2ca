"""The archive: it settles the log of each ended pod and stores finished runs, late or after an absence."""

import json
import random
from collections.abc import AsyncIterator
from http import HTTPStatus

from torpor_crds.models.archive import ArchiveEndpoint
from torpor_kubernetes.client.archive import ArchiveResponse
from torpor_kubernetes.client.resources import CONFIG_MAPS, PODS
from torpor_local.apiserver.history import ObjectChange, collection
from torpor_operator.controller.archive import NotArchivedError
from torpor_wire import constants

from tests.simulation.loop import VirtualLoop
from tests.simulation.process import Process
from tests.support.fake_api import FakeApi

FIRST_SEED = 10_000
"""Simulations from this seed on have an archive, up to `LAST_SEED`."""
LAST_SEED = 19_999
_AWAY = 0.3
_SLOW = 0.15
ENDED = frozenset({"Succeeded", "Failed"})


class SimulatedArchive:
    """Some are away until the faults end."""

    def __init__(self, loop: VirtualLoop, seed: int, calm: float) -> None:
        self._loop = loop
        self._rng = rng = random.Random(f"archive {seed}")
        self.installed = FIRST_SEED <= seed <= LAST_SEED
        self._away_until = calm if rng.random() < _AWAY else 0.0
        self._settled_at: dict[str, float] = {}
        self.ended_at: dict[str, float] = {}
        """When each pod ended, by uid."""
        self.runs: dict[str, str] = {}
        """The completion time of each stored run, by uid."""

    def install(self, fake: FakeApi, namespace: str) -> None:
        """Publish the address, where there is an archive."""
        if self.installed:
            metadata = {"name": constants.ARCHIVE_CONFIG, "namespace": namespace}
            fake.put(CONFIG_MAPS, {"metadata": metadata, "data": {"url": "https://archive", "ca.crt": "certificate"}})

    def observe(self, _: Process, entry: ObjectChange) -> None:
        """Notice the end of a pod. Its log is settled a moment later, or much later."""
        if entry.address.kind != collection(PODS) or entry.after is None:
            return
        uid = entry.after["metadata"]["uid"]
        if entry.after["status"].get("phase") in ENDED and uid not in self.ended_at:
            now = self.ended_at[uid] = self._loop.time()
            delay = 60.0 if self._rng.random() < _SLOW else self._rng.uniform(0.1, 4.0)
            self._settled_at[uid] = max(now, self._away_until) + delay

    def is_settled(self, uid: str) -> bool:
        """Whether the log of a pod is settled now."""
        return uid in self._settled_at and self._settled_at[uid] <= self._loop.time()

    async def post(self, endpoint: ArchiveEndpoint, path: str, body: object) -> ArchiveResponse:
        """Answer which logs are settled. Raises OSError while it is away."""
        if self._is_away():
            raise OSError("the archive is away")
        pods = body["pods"] if isinstance(body, dict) else []
        settled = [uid for uid in pods if self.is_settled(uid)]
        return ArchiveResponse(HTTPStatus.OK, json.dumps({"settled": settled}).encode())

    async def put(self, endpoint: ArchiveEndpoint, path: str, lines: AsyncIterator[bytes]) -> None:
        """Store a finished run."""
        workflow = json.loads(await anext(lines))
        async for _ in lines:
            pass
        if self._is_away():
            raise NotArchivedError("the archive is away")
        self.runs[path.rpartition("/")[2]] = workflow["status"]["completionTime"]

    async def completed(self, endpoint: ArchiveEndpoint, path: str) -> str | None:
        """Return the completion time of a stored run."""
        if self._is_away():
            raise NotArchivedError("the archive is away")
        return self.runs.get(path.rpartition("/")[2])

    async def get(self, endpoint: ArchiveEndpoint, path: str) -> ArchiveResponse:
        """Raise OSError: simulations with Backfills have no archive."""
        raise OSError(f"the archive is away: {path}")

    def _is_away(self) -> bool:
        return self._loop.time() < self._away_until
