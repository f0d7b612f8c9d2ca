"""Whether something listens at a TCP port: a connection is opened and closed, and nothing is said over it."""

import asyncio
import contextlib


async def reach(host: str, port: int, seconds: float) -> str:
    """The address at which a connection was accepted. Raises OSError where none is within `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError as error:
        raise OSError(f"no connection within {seconds:g} s") from error
    except UnicodeError as error:
        raise OSError(f"{host[:100]!r} is no name of a host") from error
    address = str(writer.get_extra_info("peername")[0])
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return address
