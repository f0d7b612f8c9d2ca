"""`python -m benchmarks.attacks.servers`: the servers that the attacker's waits contact.

It prints their ports as JSON, then every second the number of connections of each, until its input ends. `silent`
accepts connections and sends nothing. The others send more than a wait may read: HTTP and S3 a body of 200 MB, Redis
and PostgreSQL endless data. They listen on 127.0.0.2, because waits may not contact the API server's address; `silent`
listens on 16 addresses, because a triggerer opens 32 connections per host.
"""

import asyncio
import json
import struct
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

HOST = "127.0.0.2"
SILENT_HOSTS = tuple(f"127.0.1.{number}" for number in range(1, 17))
_BACKLOG = 1024
_BLOCK = b"x" * 65536
_BODY = 200 * 10**6
_GREETING = 8  # bytes of PostgreSQL's question for TLS
_GIGABYTE = 2**30
_EVERY = 1.0
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def _silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    while await reader.read(4096):
        pass


async def _http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _body(reader, writer, "application/json", b"[")


async def _s3(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _body(reader, writer, "application/xml", b'<?xml version="1.0"?><ListBucketResult><Name>')


async def _body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: str, begins: bytes) -> None:
    await reader.readuntil(b"\r\n\r\n")
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {_BODY}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + begins)
    for _ in range((_BODY - len(begins)) // len(_BLOCK)):
        writer.write(_BLOCK)
        await writer.drain()


async def _redis(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(4096):
        if b"EXEC" in data:
            writer.write(b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n$1073741824\r\n")
            await _endless(writer)
        writer.write(b"+OK\r\n" * data.count(b"*"))


async def _postgres(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Refuse TLS, let anybody in, and answer the first statement with a row of a gigabyte."""
    greeting = await reader.readexactly(_GREETING)
    if greeting == struct.pack("!II", _GREETING, 80877103):
        writer.write(b"N")
        greeting = await reader.readexactly(4)
    await reader.readexactly(struct.unpack("!I", greeting[:4])[0] - len(greeting))
    writer.write(_message(b"R", struct.pack("!I", 0)))
    for name, value in {"server_version": "17.0", "client_encoding": "UTF8", "TimeZone": "UTC"}.items():
        writer.write(_message(b"S", f"{name}\0{value}\0".encode()))
    writer.write(_message(b"Z", b"I"))
    await reader.readexactly(1)
    writer.write(b"D" + struct.pack("!IHI", _GIGABYTE + 10, 1, _GIGABYTE))
    await _endless(writer)


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!I", len(content) + 4) + content


async def _endless(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(_BLOCK)
        await writer.drain()


_ALL: Mapping[str, Serve] = {"silent": _silent, "http": _http, "s3": _s3, "redis": _redis, "postgres": _postgres}


def _quietly(name: str, serve: Serve, counts: Counter[str]) -> Serve:
    async def whole(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        counts[name] += 1
        try:
            await serve(reader, writer)
        except (OSError, EOFError):
            pass
        finally:
            counts[name] -= 1
            writer.close()

    return whole


async def main() -> None:
    """Serve until the input ends; what still streams is cut off."""
    counts = Counter(dict.fromkeys(_ALL, 0))
    ports: dict[str, int] = {}
    for name, serve in _ALL.items():
        first, *others = SILENT_HOSTS if serve is _silent else (HOST,)
        quiet = _quietly(name, serve, counts)
        server = await asyncio.start_server(quiet, first, 0, backlog=_BACKLOG)
        ports[name] = server.sockets[0].getsockname()[1]
        if others:
            await asyncio.start_server(quiet, others, ports[name], backlog=_BACKLOG)
    _say(ports)
    ending = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    while not ending.done():
        _say(counts)
        await asyncio.wait([ending], timeout=_EVERY)


def _say(what: Mapping[str, int]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
