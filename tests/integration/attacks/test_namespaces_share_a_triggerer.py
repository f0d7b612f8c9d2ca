"""What one namespace may keep from the others on a triggerer: connections, the resolver's threads, addresses."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from torpor.triggers import Http, Object, Redis, Sql, Tcp, Webhook
from torpor.triggers.support.metering import AddressDeniedError
from torpor_expressions.evaluator import InProcess
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.timing import SystemClock
from torpor_triggerer.network import resolver
from torpor_triggerer.network.addresses import Addresses
from torpor_triggerer.network.connections import OutboundNetwork
from torpor_triggerer.network.resolver import NameResolver, ResolvedAddress
from torpor_triggerer.services import http
from torpor_triggerer.services.trigger_services import Backends

from tests.integration.triggers.site import says, site
from tests.support import trigger_services
from tests.support.fake_api import FakeApi, VirtualClock


@asynccontextmanager
async def process(network: OutboundNetwork) -> AsyncIterator[Backends]:
    """What a triggerer lends, over real sockets."""
    async with http.connect(network) as client:
        api = Api(FakeApi(VirtualClock()), SystemClock())
        yield Backends(api=api, evaluator=InProcess(), web=client, network=network)


@asynccontextmanager
async def silent() -> AsyncIterator[str]:
    """A server that takes connections and never says anything."""

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read()
        except OSError:
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(hold, "127.0.0.1", 0, backlog=512) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_waits_on_silent_servers_leave_connections_to_another_namespace() -> None:
    async with silent() as url, site(says(200)) as at, process(trigger_services.network()) as backends:
        triggers = [Http(f"{url}/{number}", timeout=60) for number in range(300)]
        waits = []
        for trigger in triggers:
            trigger.bind(trigger_services.services(backends, namespace="greedy"))
            waits.append(asyncio.create_task(trigger_services.first(trigger)))
        await trigger_services.until(lambda: not backends.network.requests.is_open("greedy"))
        other = Http(at.url, timeout=60)
        other.bind(trigger_services.services(backends, namespace="other"))
        async with asyncio.timeout(trigger_services.TIMEOUT):
            assert (await trigger_services.first(other))["status"] == 200
        for task in waits:
            task.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
        await backends.pollers.ended()
        assert backends.network.requests.held("greedy") == 0


async def test_names_that_never_resolve_leave_the_resolver_to_another_namespace() -> None:
    ends = threading.Event()

    def lookup(host: str) -> Sequence[ResolvedAddress]:
        if host.endswith(".never"):
            ends.wait()
        return [ResolvedAddress(socket.AF_INET, "127.0.0.1")]

    network = OutboundNetwork(addresses=Addresses.build(allow=["127.0.0.0/8"]), resolver=NameResolver(lookup))
    async with site(says(200)) as at, process(network) as backends:
        waits = []
        for number in range(100):
            greedy = Http(f"http://x{number}.never/", timeout=60)
            greedy.bind(trigger_services.services(backends, namespace="greedy"))
            waits.append(asyncio.create_task(trigger_services.first(greedy)))
        await asyncio.sleep(0.2)
        assert threading.active_count() < resolver.LOOKUPS + 10
        other = Http(at.url.replace("127.0.0.1", "known.example"), timeout=60)
        other.bind(trigger_services.services(backends, namespace="other"))
        assert (await trigger_services.first(other))["status"] == 200
        ends.set()
        for task in waits:
            task.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
        await backends.pollers.ended()


@pytest.mark.parametrize(
    "make",
    [
        lambda port: Http(f"http://127.0.0.1:{port}/"),
        lambda port: Http(f"http://localhost:{port}/"),
        lambda port: Webhook(f"http://127.0.0.1:{port}/"),
        lambda port: Tcp("127.0.0.1", port),
        lambda port: Tcp("localhost", port),
        lambda port: Redis(f"redis://127.0.0.1:{port}/0", list="x"),
        lambda port: Sql(f"postgresql://joe@127.0.0.1:{port}/x", "SELECT 1"),
        lambda port: Object("s3://drops/x", options={"endpoint": f"http://127.0.0.1:{port}", "anonymous": True}),
        lambda port: Object("s3://drops/x/", options={"endpoint": f"http://127.0.0.1:{port}", "anonymous": True}),
        lambda port: Object("s3://drops/x/", options={"endpoint": f"https://127.0.0.1:{port}", "anonymous": True}),
    ],
    ids=["http", "name", "webhook", "tcp", "tcp-name", "redis", "sql", "head", "list", "tls"],
)
async def test_no_trigger_reaches_what_listens_on_the_triggerers_loopback(make: object) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        async with process(OutboundNetwork()) as backends:
            trigger = make(server.getsockname()[1])  # type: ignore[operator]
            with pytest.raises(AddressDeniedError, match=r"the triggerer does not connect to .*loopback"):
                await trigger_services.event(trigger, backends)
        with pytest.raises(BlockingIOError):
            server.accept()


async def test_a_redirect_to_a_denied_address_is_not_followed() -> None:
    with socket.create_server(("127.0.0.2", 0)) as inside:
        inside.setblocking(False)
        network = OutboundNetwork(addresses=Addresses.build(allow=["127.0.0.1"]))
        leads = says(302, Location=f"http://127.0.0.2:{inside.getsockname()[1]}/")
        async with site(leads) as at, process(network) as backends:
            with pytest.raises(AddressDeniedError, match=r"127\.0\.0\.2: loopback"):
                await trigger_services.event(Http(at.url), backends)
            assert len(at.requests) == 1
        with pytest.raises(BlockingIOError):
            inside.accept()


async def test_the_proxy_of_store_clients_needs_its_password() -> None:
    from torpor.triggers.support.metering import ByteMeter  # noqa: PLC0415
    from torpor_triggerer.network.proxy import ProxyServer  # noqa: PLC0415

    proxies = ProxyServer()
    with socket.create_server(("127.0.0.1", 0)) as inside:
        session = await proxies.open(trigger_services.network(), "a", ByteMeter(1000))
        port = int(session.url.rpartition(":")[2])
        for credentials in ("", "Proxy-Authorization: Basic dG9ycG9yOndyb25n\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"CONNECT 127.0.0.1:{inside.getsockname()[1]} HTTP/1.1\r\n{credentials}\r\n".encode())
            assert b" 407 " in await reader.readline()
            writer.close()
        await session.close()


@pytest.mark.parametrize("make", [Http, Webhook])
async def test_a_request_with_a_longer_timeout_than_the_triggerers_is_refused(
    make: type[Http | Webhook],
) -> None:
    trigger = make("http://example.org/", timeout=61)
    with pytest.raises(ValueError, match=r"timeout is 61 seconds; this triggerer allows 60 for one request"):
        trigger.bind(trigger_services.services())
    with pytest.raises(ValueError, match="--max-request-timeout"):
        Tcp("example.org", 80, timeout=3600).bind(trigger_services.services())
