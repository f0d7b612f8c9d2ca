"""Which classes may run here, and what is said of those that cannot."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from torpor.triggers import BaseTrigger, TriggerEvent
from torpor_triggerer.usercode import registry
from torpor_triggerer.usercode.registry import BUILT_IN, Unknown, load


class BlocksInPoll(BaseTrigger):
    blocking = True

    def poll(self) -> Any:
        return "seen"


class RunsItself(BlocksInPoll):
    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent("seen")


class Stranger:
    blocking = True

    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent("seen")


class BlocksAsync(BaseTrigger):
    blocking = True

    async def poll(self) -> Any:
        return None


class BlocksWithoutPoll(BaseTrigger):
    blocking = True

    def look(self) -> Any:
        return "seen"


class NeedsMuch(BaseTrigger):
    requires = ("asyncio", "no_such_package")
    extra = "acme[much]"

    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent("seen")


def message_of(name: str) -> str:
    unusable = load({name: f"{__name__}:{name}"}).find(name)
    return unusable.message if isinstance(unusable, Unknown) else ""


def test_every_class_of_torpors_own_can_be_loaded() -> None:
    registry = load({})
    assert [name for name in BUILT_IN if isinstance(registry.find(name), Unknown)] == []


def test_a_class_that_blocks_leaves_its_running_to_us() -> None:
    assert message_of("BlocksInPoll") == ""
    for name in ("RunsItself", "Stranger", "BlocksAsync", "BlocksWithoutPoll"):
        assert "a plain `def poll(self)` and without a run() of its own" in message_of(name)


def test_a_class_without_its_package_is_registered_and_says_what_to_install() -> None:
    assert "it needs no_such_package; install acme[much] in the triggerer's image" in message_of("NeedsMuch")


def test_torpors_own_name_the_extra_that_brings_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    known = load({})
    for name in ("sql", "redis", "object"):
        class_ = known.find(name)
        assert isinstance(class_, Unknown)
        extra = {"object": "objects"}.get(name, name)
        assert f"install torpor[{extra}] in the triggerer's image" in class_.message
    assert not isinstance(known.find("http"), Unknown)
