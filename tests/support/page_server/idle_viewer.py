"""A viewer that asks and reads nothing."""

import asyncio
import socket

from tests.support.page_server.browser import Browser


async def is_disconnected(page: Browser, path: str) -> None:
    """Ask for a path, read one line, and wait until the server has closed the connection."""
    host, port = page.origin.removeprefix("http://").split(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((host, int(port)))
    reader, writer = await asyncio.open_connection(sock=connection, limit=1024)
    cookie = "; ".join(f"{each.key}={each.value}" for each in page.session.cookie_jar)
    writer.write(f"GET /{path} HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: {cookie}\r\n\r\n".encode())
    await reader.readline()  # and nothing more
    async with asyncio.timeout(60):
        while not await _is_closed(writer):
            pass
    writer.close()


async def _is_closed(writer: asyncio.StreamWriter) -> bool:
    await asyncio.sleep(0.1)
    try:
        writer.write(b"\r\n")
        await writer.drain()
    except ConnectionError:
        return True
    return writer.transport.is_closing()
