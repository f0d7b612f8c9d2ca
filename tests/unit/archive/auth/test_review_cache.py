"""What was learned is forgotten in time, and there is never too much of it."""

from torpor_archive.auth.reviews import Cache

from tests.support.fake_api import VirtualClock


async def test_what_is_kept_grows_old() -> None:
    clock = VirtualClock()
    cache: Cache[str, int] = Cache(clock, seconds=10.0)
    cache.keep("a", 1)
    assert cache.get("a") == 1
    await clock.advance(11.0)
    assert cache.get("a") is None


async def test_the_oldest_makes_room() -> None:
    cache: Cache[int, int] = Cache(VirtualClock(), entries=2)
    for number in (1, 2, 1, 3):
        cache.keep(number, number)
    assert [cache.get(number) for number in (1, 2, 3)] == [1, None, 3]
