"""The trigger class of examples/own-trigger: a name that resolves fires, one that does not is asked for again."""

import asyncio
import socket
from typing import Any

import pytest
from own_trigger.dns import Resolves
from torpor_wire import trigger


class Resolver:
    """Gives the next of its answers at each call."""

    def __init__(self, *answers: list[str] | OSError) -> None:
        self.answers = list(answers)

    async def getaddrinfo(self, host: str, port: object, **_: Any) -> list[tuple[Any, ...]]:
        answer = self.answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return [(None, None, None, "", (address, 0)) for address in answer]


async def first(monkeypatch: pytest.MonkeyPatch, *answers: list[str] | OSError) -> tuple[Any, Resolver]:
    resolver = Resolver(*answers)
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolver.getaddrinfo)
    event = await anext(aiter(Resolves("db.example.org", interval=0.001).run()))
    return event.payload, resolver


async def test_it_fires_with_the_addresses_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    payload, _ = await first(monkeypatch, ["10.0.0.2", "10.0.0.1", "10.0.0.2"])
    assert payload == {"host": "db.example.org", "addresses": ["10.0.0.1", "10.0.0.2"]}


async def test_a_name_that_is_not_there_yet_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    missing, silent = socket.gaierror(socket.EAI_NONAME, "none"), socket.gaierror(socket.EAI_AGAIN, "later")
    payload, resolver = await first(monkeypatch, missing, silent, ["::1"])
    assert (payload["addresses"], resolver.answers) == (["::1"], [])


@pytest.mark.parametrize(
    "kwargs", [{"host": ""}, {"host": 3}, {"host": "x" * 64 + ".org"}, {"host": "a", "interval": 0}]
)
def test_arguments_that_make_no_sense_are_refused_before_the_wait(kwargs: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the words are the class's own
        Resolves(**kwargs)


def test_what_it_serializes_makes_an_equal_trigger() -> None:
    name, kwargs = Resolves("db.example.org", interval=3).serialize()
    assert (name, Resolves(**kwargs).serialize()) == ("resolves", (name, kwargs))


def test_waits_for_one_name_share_one_poke_at_any_interval() -> None:
    name, often = Resolves("a", interval=1).serialize()
    _, seldom = Resolves("a", interval=60).serialize()
    keys = {trigger.key(name, kwargs, namespace="ns", pool="own") for kwargs in (often, seldom)}
    assert len(keys) == 1
