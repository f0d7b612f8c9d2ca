"""Who is let in, and who goes to make room: never who is being answered, nor who has fewer than the newcomer."""

from torpor_archive.http.connections import Connection, ConnectionLimits, Connections

LIMITS = ConnectionLimits(total=4, per_address=3)


class Port:
    def __init__(self) -> None:
        self.refused = 0
        self.closed: list[str] = []
        self.connections = Connections(LIMITS, self._refuse)

    def open(self, address: str, *, busy: bool = False) -> Connection | None:
        name = f"{address}{len(self.closed) + len(self.connections)}"
        made = self.connections.admit(address, lambda: self.closed.append(name))
        if made is not None:
            made.busy = busy
        return made

    def _refuse(self) -> None:
        self.refused += 1


def test_an_address_at_its_limit_loses_its_oldest_idle_connection() -> None:
    port = Port()
    for _ in range(4):
        assert port.open("a")
    assert (port.closed, port.refused, len(port.connections)) == (["a0"], 1, 3)


def test_an_address_whose_connections_are_all_in_use_gets_no_more() -> None:
    port = Port()
    for _ in range(3):
        port.open("a", busy=True)
    assert port.open("a") is None
    assert (port.closed, port.refused) == ([], 1)


def test_a_newcomer_takes_the_place_of_an_idle_connection_of_who_has_most() -> None:
    port = Port()
    port.open("a", busy=True)
    for _ in range(2):
        port.open("a")
    port.open("b")
    assert port.open("c")
    assert (port.closed, len(port.connections)) == (["a1"], 4)


def test_nobody_who_has_no_more_than_the_newcomer_is_closed() -> None:
    port = Port()
    for address in "abcd":
        port.open(address)
    assert port.open("e")
    assert port.closed == ["a0"]
    assert port.open("b") is None


def test_what_has_ended_makes_room_once() -> None:
    port = Port()
    made = port.open("a")
    assert made is not None
    port.connections.remove(made)
    port.connections.remove(made)
    assert len(port.connections) == 0
