"""Sessions by namespace and service account."""

import asyncio
from typing import Any, cast

import aiohttp
from torpor_triggerer.network.sessions import Owner, Sessions


class Session:
    """Says what happened to it."""

    def __init__(self, *, reuse: bool) -> None:
        self.reuse = reuse
        self.ended = asyncio.Event()

    @property
    def closed(self) -> bool:
        return self.ended.is_set()

    async def close(self) -> None:
        self.ended.set()


def owner(number: int) -> Owner:
    return Owner(f"n{number}", "torpor-task")


def sessions(**given: Any) -> Sessions:
    return Sessions(lambda *, reuse: cast("aiohttp.ClientSession", Session(reuse=reuse)), **given)


async def test_an_owner_has_one_session_and_no_other_owner_has_it() -> None:
    async with sessions() as opened:
        async with opened.hold(owner(1)) as first, opened.hold(owner(1)) as same, opened.hold(owner(2)) as other:
            assert first is same
            assert first is not other
        async with opened.hold(owner(1)) as again:
            assert again is first
        async with opened.hold(Owner("n1", "another")) as account:
            assert account is not first
    assert all(session.closed for session in (first, other, account))


async def test_a_session_that_is_not_used_is_closed() -> None:
    async with sessions(idle_seconds=0.01) as opened:
        async with opened.hold(owner(1)) as first, opened.hold(owner(2)) as held:
            pass
        async with opened.hold(owner(2)):
            await asyncio.wait_for(first.ended.wait(), 60)  # type: ignore[attr-defined]
            assert (len(opened), held.closed) == (1, False)


async def test_sessions_are_bounded_and_the_longest_idle_session_is_closed() -> None:
    async with sessions(limit=2) as opened:
        async with opened.hold(owner(1)) as first:
            pass
        async with opened.hold(owner(2)) as second:
            pass
        async with opened.hold(owner(1)):
            pass
        async with opened.hold(owner(3)):
            pass
        await asyncio.sleep(0)
        assert (first.closed, second.closed, len(opened)) == (False, True, 2)


async def test_who_comes_while_all_are_in_use_reuses_no_connection() -> None:
    async with (
        sessions(limit=1) as opened,
        opened.hold(owner(1)) as first,
        opened.hold(owner(2)) as second,
        opened.hold(owner(3)) as third,
    ):
        assert (first.reuse, second.reuse, second is third) == (True, False, True)  # type: ignore[attr-defined]
        assert len(opened) == 1
    assert first.closed
    assert second.closed
