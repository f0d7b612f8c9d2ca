"""`python -m benchmarks.triggerer.bare FILE`: what the triggerer's fires are measured against.

The least that patches the same statuses: one process, asyncio and aiohttp, the bodies made beforehand, as many under
way as the triggerer has, its identity, one watch open as it has one. FILE is JSON of `BareWork`.
"""

import asyncio
import contextlib
import json
import ssl
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import aiohttp
from torpor_kubernetes.client.transport import JSON_PATCH

_DRAIN = 1 << 16


class TimedPatch(NamedTuple):
    """One write: not before when (seconds since the epoch), its path, its JSON text."""

    due: float
    path: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BareWork:
    """`patches` are in order of when they are due."""

    url: str
    authority: str
    token: str
    concurrency: int
    watch: str
    patches: Sequence[TimedPatch]


async def patch(work: BareWork) -> None:
    """Send them all. Raises aiohttp's error where one is refused, SystemExit where they were due before it was up."""
    tls = ssl.create_default_context(cafile=work.authority)
    headers = {"Authorization": f"Bearer {work.token}"}
    connector = aiohttp.TCPConnector(limit=0, ssl=tls)
    async with aiohttp.ClientSession(work.url, connector=connector, headers=headers) as session:
        watching = asyncio.create_task(_watch(session, work.watch))
        patches = iter([TimedPatch(*fields) for fields in work.patches])
        if time.time() > work.patches[0][0]:
            raise SystemExit("the bare client was up too late")
        await asyncio.gather(*(_worker(session, patches) for _ in range(work.concurrency)))
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching


async def _worker(session: aiohttp.ClientSession, patches: Iterator[TimedPatch]) -> None:
    for due, path, body in patches:
        await asyncio.sleep(due - time.time())
        async with session.patch(path, data=body, headers={"Content-Type": JSON_PATCH}) as response:
            await response.read()
            response.raise_for_status()


async def _watch(session: aiohttp.ClientSession, path: str) -> None:
    async with session.get(path, timeout=aiohttp.ClientTimeout(total=None)) as response:
        async for _ in response.content.iter_chunked(_DRAIN):
            pass


if __name__ == "__main__":
    asyncio.run(patch(BareWork(**json.loads(Path(sys.argv[1]).read_text()))))
