"""Where waits may be led: names are resolved first, addresses judged then, and what was judged is connected to."""

import asyncio
import socket
import threading
from collections.abc import Mapping, Sequence

import pytest
from torpor.triggers.services import Request
from torpor.triggers.support.metering import AddressDeniedError, AnswerTooLargeError, ByteMeter
from torpor_kubernetes.fairness.namespace_shares import Shares
from torpor_triggerer.model import outcome
from torpor_triggerer.model.outcome import Failed
from torpor_triggerer.network import addresses, connections
from torpor_triggerer.network.addresses import Addresses
from torpor_triggerer.network.connections import OutboundNetwork
from torpor_triggerer.network.resolver import NameResolver, ResolvedAddress
from torpor_triggerer.network.sessions import Owner
from torpor_triggerer.services import http
from torpor_wire.reason import Reason

OWNER = Owner("workflows", "torpor-task")


def names(known: Mapping[str, Sequence[str]]) -> NameResolver:
    def lookup(host: str) -> Sequence[ResolvedAddress]:
        return [
            ResolvedAddress(socket.AF_INET6 if ":" in address else socket.AF_INET, address) for address in known[host]
        ]

    return NameResolver(lookup)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("127.0.0.1", "loopback"),
        ("127.8.9.10", "loopback"),
        ("0.0.0.0", "unspecified"),
        ("169.254.169.254", "link-local"),
        ("169.254.170.2", "link-local"),
        ("100.100.100.200", "metadata"),
        ("224.0.0.1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("fe80::1%eth0", "link-local"),
        ("fd00:ec2::254", "metadata"),
        ("ff02::1", "multicast"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::127.0.0.1", "loopback"),
        ("::ffff:169.254.169.254", "link-local"),
        ("64:ff9b::7f00:1", "loopback"),
        ("64:ff9b:1::7f00:1", "local-use NAT64"),
        ("64:ff9b:1:7f00:0:100::", "local-use NAT64"),
        ("64:ff9b:1::a01:203", "local-use NAT64"),
        ("2002:7f00:1::", "loopback"),
    ],
)
def test_addresses_that_no_author_has_a_reason_to_name_are_denied(address: str, why: str) -> None:
    assert why in Addresses.build().refusal(address)


@pytest.mark.parametrize("address", ["10.1.2.3", "192.168.0.1", "93.184.216.34", "2001:db8::1", "fd12::1"])
def test_other_addresses_are_open(address: str) -> None:
    assert Addresses.build().refusal(address) == ""


@pytest.mark.parametrize(
    ("allow", "deny", "address", "is_open"),
    [
        (["127.0.0.0/8"], [], "127.0.0.1", True),
        (["127.0.0.1"], [], "127.0.0.2", False),
        (["0.0.0.0/0"], [], "127.0.0.1", False),
        ([], ["10.0.0.0/8"], "10.1.2.3", False),
        (["10.1.0.0/16"], ["10.0.0.0/8"], "10.1.2.3", True),
        (["10.0.0.0/8"], ["10.1.0.0/16"], "10.1.2.3", False),
        (["10.0.0.0/8"], ["10.0.0.0/8"], "10.1.2.3", False),
        (["10.0.0.0/8"], ["0.0.0.0/0", "::/0"], "93.184.216.34", False),
        (["10.0.0.0/8"], ["0.0.0.0/0", "::/0"], "2001:db8::1", False),
        (["10.0.0.0/8"], ["0.0.0.0/0", "::/0"], "10.1.2.3", True),
        ([], ["10.0.0.0/8"], "::ffff:10.1.2.3", False),
        (["64:ff9b:1::/96"], [], "64:ff9b:1::10.1.2.3", True),
        (["64:ff9b:1::/96"], [], "64:ff9b:1::127.0.0.1", False),
        (["64:ff9b:1::/96"], ["10.0.0.0/8"], "64:ff9b:1::10.1.2.3", False),
    ],
)
def test_the_most_specific_network_counts(allow: list[str], deny: list[str], address: str, is_open: bool) -> None:
    assert (Addresses.build(allow=allow, deny=deny).refusal(address) == "") is is_open


def test_the_pods_own_addresses_and_those_of_services_beside_it_are_denied() -> None:
    environ = {
        "KUBERNETES_SERVICE_HOST": "10.96.0.1",
        "TORPOR_ARCHIVE_SERVICE_HOST": "10.96.7.7",
        "HEADLESS_SERVICE_HOST": "None",
        "POD_IPS": "10.244.0.5,fd00::5",
        "HOST_IPS": "192.168.5.1,fd01::1",
    }
    rules = Addresses.build(own=addresses.own(environ))
    own = ("10.96.0.1", "10.96.7.7", "10.244.0.5", "fd00::5", "192.168.5.1", "fd01::1", "::ffff:192.168.5.1")
    assert all(rules.refusal(address) for address in own)
    assert rules.refusal("10.244.0.6") == ""


async def test_a_name_of_a_denied_address_is_refused_without_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        network = OutboundNetwork(resolver=names({"inside.example": ["127.0.0.1"]}))
        with pytest.raises(AddressDeniedError, match=r"inside\.example \(127\.0\.0\.1\): loopback; --allow-networks"):
            await network.connect("a", "inside.example", server.getsockname()[1], seconds=5, meter=ByteMeter(0))
        with pytest.raises(BlockingIOError):
            server.accept()


async def test_only_the_allowed_addresses_of_a_name_are_tried() -> None:
    network = OutboundNetwork(resolver=names({"both.example": ["169.254.169.254", "10.0.0.1", "::1"]}))
    assert [address.address for address in await network.resolve("a", "both.example")] == ["10.0.0.1"]


async def test_the_connection_goes_to_the_address_that_was_checked() -> None:
    answers = iter([["10.0.0.1"], ["127.0.0.1"]])
    network = OutboundNetwork(
        resolver=NameResolver(lambda _: [ResolvedAddress(socket.AF_INET, address) for address in next(answers)])
    )
    resolved = await network.resolve("a", "rebinds.example")
    assert [address.at(80) for address in resolved] == [("10.0.0.1", 80)]
    with pytest.raises(AddressDeniedError):
        await network.connect("a", "rebinds.example", 80, seconds=5, meter=ByteMeter(0))


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/", "http://[::1]:1/", "http://[::ffff:127.0.0.1]:1/", "http://inside.example:1/"]
)
async def test_http_does_not_connect_to_a_denied_address(url: str) -> None:
    async with http.connect(OutboundNetwork(resolver=names({"inside.example": ["127.0.0.1"]}))) as client:
        with pytest.raises(AddressDeniedError, match="the triggerer does not connect to"):
            await client.request(Request("GET", url, {}, 5.0), OWNER)


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f.1", "0177.0.0.1"])
async def test_other_ways_to_write_an_address_are_judged_as_what_they_mean(host: str) -> None:
    async with http.connect(OutboundNetwork()) as client:
        with pytest.raises(OSError, match=r"does not connect to|canonical"):
            await client.request(Request("GET", f"http://{host}:1/", {}, 5.0), OWNER)
    with pytest.raises(AddressDeniedError):
        await OutboundNetwork().connect("a", host, 1, seconds=5, meter=ByteMeter(0))


async def test_a_name_that_never_resolves_times_out_and_counts_for_its_namespace() -> None:
    ends = threading.Event()

    def lookup(host: str) -> Sequence[ResolvedAddress]:
        if host.startswith("hangs"):
            ends.wait()
        return [ResolvedAddress(socket.AF_INET, "10.0.0.1")]

    resolver = NameResolver(lookup, limit=16, seconds=3)
    hanging = [asyncio.create_task(resolver.find("greedy", f"hangs-{number}")) for number in range(50)]
    await asyncio.sleep(0.05)
    assert [address.address for address in await resolver.find("other", "known.example")] == ["10.0.0.1"]
    results = await asyncio.gather(*hanging, return_exceptions=True)
    assert {str(result) for result in results} == {
        f"the name hangs-{number} was not resolved within 3 s" for number in range(50)
    }
    ends.set()


async def test_simultaneous_lookups_of_a_name_in_a_namespace_are_one_query() -> None:
    lookups: list[str] = []
    ends = threading.Event()

    def lookup(host: str) -> Sequence[ResolvedAddress]:
        lookups.append(host)
        ends.wait()
        return [ResolvedAddress(socket.AF_INET, "10.0.0.1")]

    resolver = NameResolver(lookup)
    tasks = [asyncio.create_task(resolver.find("a", "x.example")) for _ in range(20)]
    await asyncio.sleep(0.05)
    ends.set()
    assert len(await asyncio.gather(*tasks)) == 20
    assert lookups == ["x.example"]


async def test_a_connection_has_its_place_until_it_is_closed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        network = OutboundNetwork(addresses=Addresses.build(allow=["127.0.0.0/8"]), sockets=Shares(2))
        port = server.getsockname()[1]
        opened = [await network.connect("a", "127.0.0.1", port, seconds=5, meter=ByteMeter(0)) for _ in range(2)]
        with pytest.raises(OSError, match="2 of this namespace are open"):
            await network.connect("a", "127.0.0.1", port, seconds=0.1, meter=ByteMeter(0))
        opened[0].close()
        opened[0].close()
        opened.append(await network.connect("b", "127.0.0.1", port, seconds=5, meter=ByteMeter(0)))
        assert (network.sockets.held("a"), network.sockets.held("b")) == (1, 1)
        for connection in opened:
            connection.close()


async def test_a_place_among_the_requests_is_waited_for_so_long_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.05)
    network = OutboundNetwork(requests=Shares(1))
    async with network.hold(network.requests, "a"):
        with pytest.raises(OSError, match="requests of this namespace are under way, which is its share"):
            async with network.hold(network.requests, "b"):
                raise AssertionError
    async with network.hold(network.requests, "b"):
        assert network.requests.held("b") == 1


@pytest.mark.parametrize(
    ("error", "reason"),
    [(AnswerTooLargeError("too large"), "AnswerTooLarge"), (AddressDeniedError("denied"), "AddressDenied")],
)
def test_a_wait_that_fails_for_a_limit_says_so_and_no_more(error: Exception, reason: str) -> None:
    assert outcome.from_exception(error) == Failed(reason=Reason(reason), message=str(error))
