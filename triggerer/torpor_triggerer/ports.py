"""Whether something listens at a TCP port: a connection is opened and closed, and nothing is said over it."""

from torpor.triggers.metering import Meter

from torpor_triggerer.network import Network


async def reach(network: Network, owner: str, host: str, port: int, seconds: float) -> str:
    """The address at which a connection was accepted. Raises OSError where none is within `seconds`.

    Of these AddressDeniedError where waits may not be connected there.
    """
    seconds = min(seconds, network.request_seconds)
    connected = await network.connect(owner, host, port, seconds=seconds, meter=Meter(0))
    try:
        return str(connected.getpeername()[0])
    finally:
        connected.close()
