"""The door to the bench's own etcd: what the API server would have stored, put there without it.

Twenty thousand waits by way of the API are forty thousand writes and take minutes; a scenario needs them there, and is
not about how they came. Only for a control plane that the bench has started itself.
"""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp

MANY = 100
"""Operations of one transaction; etcd takes 128."""
_UNDER_WAY = 4
_PAGE = 500


class Etcd:
    """Keys and values over etcd's JSON gateway."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self.url = url
        self._room = asyncio.Semaphore(_UNDER_WAY)

    async def read(self, key: str) -> bytes:
        """The value of a key. Raises LookupError where there is none."""
        response = await self._ask("range", {"key": _coded(key.encode())})
        if not response.get("kvs"):
            raise LookupError(key)
        return b64decode(response["kvs"][0]["value"])

    async def sizes(self, prefix: str) -> dict[str, tuple[int, int]]:
        """By the keys that begin so: the bytes of the value, and how often it was written."""
        sizes: dict[str, tuple[int, int]] = {}
        at, end = prefix.encode(), prefix.encode()[:-1] + bytes([prefix.encode()[-1] + 1])
        more = True
        while more:
            page = await self._ask("range", {"key": _coded(at), "range_end": _coded(end), "limit": _PAGE})
            entries = page.get("kvs", [])
            sizes |= {
                b64decode(entry["key"]).decode(): (len(b64decode(entry["value"])), int(entry["version"]))
                for entry in entries
            }
            more = page.get("more", False)
            at = b64decode(entries[-1]["key"]) + b"\0" if entries else end
        return sizes

    async def write(self, entries: Mapping[str, bytes], *, at_once: int = MANY) -> None:
        """Put them all.

        What is put at once has one revision, which the API server never does: a watch that is open must not see it.
        """
        puts = [
            {"request_put": {"key": _coded(key.encode()), "value": _coded(value)}} for key, value in entries.items()
        ]
        await self._carry_out(puts, at_once)

    async def remove(self, keys: Sequence[str], *, at_once: int = MANY) -> None:
        """Delete these keys, as `write` puts them."""
        await self._carry_out([{"request_delete_range": {"key": _coded(key.encode())}} for key in keys], at_once)

    async def _carry_out(self, operations: Sequence[Mapping[str, Any]], at_once: int) -> None:
        chunks = [operations[at : at + at_once] for at in range(0, len(operations), at_once)]
        async with asyncio.TaskGroup() as group:
            for chunk in chunks:
                group.create_task(self._transact(chunk))

    async def _transact(self, operations: Sequence[Mapping[str, Any]]) -> None:
        async with self._room:
            await self._ask("txn", {"success": operations})

    async def _ask(self, verb: str, body: Mapping[str, Any]) -> dict[str, Any]:
        async with self._session.post(f"{self.url}/v3/kv/{verb}", json=body) as response:
            response.raise_for_status()
            response_body: dict[str, Any] = await response.json()
            return response_body


def _coded(data: bytes) -> str:
    return b64encode(data).decode()
