"""A class of one's own that has `poll_many`: in our triggerer, and where nobody lends it anything."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from torpor.triggers import BaseTrigger, TriggerEvent

from tests.support import trigger_services


class Shop:
    def __init__(self) -> None:
        self.shipped: set[int] = set()
        self.down: Exception | None = None
        self.asked: list[list[int]] = []


class Shipped(BaseTrigger):
    """Waits until an order is shipped."""

    def __init__(self, order: int, *, shop: Shop, interval: float = 0.1) -> None:
        self.order, self.shop, self.interval = order, shop, interval

    @property
    def source(self) -> Shop:  # type: ignore[override]
        return self.shop

    @classmethod
    async def poll_many(cls, waits: "Sequence[Shipped]", services: Any) -> list[Any]:
        shop = waits[0].shop
        shop.asked.append([wait.order for wait in waits])
        if shop.down is not None:
            raise shop.down
        for pending in waits:
            pending.last_look = "not shipped"
        return [
            ValueError("no such order")
            if wait.order < 0
            else TriggerEvent(wait.order)
            if wait.order in shop.shipped
            else None
            for wait in waits
        ]


async def test_its_waits_are_polled_together() -> None:
    given, shop = trigger_services.backends(), Shop()
    first, second = Shipped(1, shop=shop), Shipped(2, shop=shop)
    async with trigger_services.waiting(first, given) as event, trigger_services.waiting(second, given):
        await trigger_services.until(lambda: [1, 2] in shop.asked)
        shop.shipped.add(1)
        assert await event == 1
        await trigger_services.until(lambda: shop.asked[-1] == [2])


async def test_it_is_polled_by_itself_where_nothing_is_lent() -> None:
    shop = Shop()
    shop.down = ConnectionError("closed for today")
    trigger = Shipped(1, shop=shop)
    task = asyncio.create_task(trigger_services.first(trigger))
    await trigger_services.looked(trigger, "closed for today")
    shop.down = None
    await trigger_services.looked(trigger, "not shipped")
    shop.shipped.add(1)
    assert await task == 1


@pytest.mark.parametrize("error", [PermissionError("wrong password"), RuntimeError("a bug")])
async def test_there_what_can_never_be_answered_fails_too(error: Exception) -> None:
    shop = Shop()
    shop.down = error
    with pytest.raises(type(error)):
        await trigger_services.first(Shipped(1, shop=shop))
    with pytest.raises(ValueError, match="no such order"):
        await trigger_services.first(Shipped(-1, shop=Shop()))


async def test_there_an_interval_below_the_minimum_fails_too() -> None:
    trigger = Shipped(1, shop=Shop())
    trigger.interval = 0
    with pytest.raises(ValueError, match="interval is 0 seconds; it must be"):
        await asyncio.wait_for(trigger_services.first(trigger), 60)
