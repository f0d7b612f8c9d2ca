"""`python -m benchmarks.attacks.clients PORT PATH`: a process that occupies connections of an archive.

It keeps 400 idle TLS connections from eight loopback addresses, so that the limit per address does not apply, and 16
uploads to PATH that send one byte at a time. It reads token and CA as JSON from its input and ends with its input. It
reopens closed connections, and prints every second how many are open and were closed.
"""

import asyncio
import json
import ssl
import sys
from collections import Counter

IDLE, UPLOADS = 400, 16
_ADDRESSES = 8
_UPLOADER = "127.0.0.20"
_AGAIN = 0.5
_EVERY = 1.0


class Clients:
    """Of one archive."""

    def __init__(self, port: int, trust: ssl.SSLContext, path: str, token: str) -> None:
        self._port = port
        self._trust = trust
        self._head = (
            f"PUT {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nTorpor-Type: bytes\r\n"
            "Content-Type: application/octet-stream\r\nContent-Length: 9000000\r\n\r\n"
        ).encode()
        self.counts: Counter[str] = Counter(idle=0, uploads=0, closed=0)

    async def idle(self, number: int) -> None:
        """One connection that says nothing, for ever."""
        while True:
            await self._once("idle", f"127.0.0.{10 + number % _ADDRESSES}", b"")
            await asyncio.sleep(_AGAIN)

    async def upload(self) -> None:
        """One upload, for ever."""
        while True:
            await self._once("uploads", _UPLOADER, self._head)
            await asyncio.sleep(_AGAIN)

    async def _once(self, kind: str, address: str, head: bytes) -> None:
        try:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", self._port, ssl=self._trust, server_hostname="127.0.0.1", local_addr=(address, 0)
            )
        except OSError:
            self.counts["refused"] += 1
            return
        self.counts[kind] += 1
        try:
            await (_trickle(writer, reader, head) if head else reader.read(1))
        except OSError:
            pass
        finally:
            self.counts[kind] -= 1
            self.counts["closed"] += 1
            writer.close()


async def _trickle(writer: asyncio.StreamWriter, reader: asyncio.StreamReader, head: bytes) -> None:
    writer.write(head)
    ended = asyncio.create_task(reader.read(1))
    try:
        while not ended.done():
            writer.write(b"x")
            await writer.drain()
            await asyncio.wait([ended], timeout=_EVERY)
    finally:
        ended.cancel()
        await asyncio.gather(ended, return_exceptions=True)


async def main(port: str, path: str) -> None:
    """Attack until the input ends."""
    given = json.loads(await asyncio.to_thread(sys.stdin.readline))
    clients = Clients(int(port), ssl.create_default_context(cadata=given["authority"]), path, given["token"])
    tasks = [asyncio.create_task(clients.idle(number)) for number in range(IDLE)]
    tasks += [asyncio.create_task(clients.upload()) for _ in range(UPLOADS)]
    ending = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    while not ending.done():
        sys.stdout.write(json.dumps(clients.counts) + "\n")
        sys.stdout.flush()
        await asyncio.wait([ending], timeout=_EVERY)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=_EVERY)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
