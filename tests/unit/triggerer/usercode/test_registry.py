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


def classes_of_rule(rule: str) -> dict[str, Any]:
    return {
        "acme.triggers.Waits": BlocksInPoll,
        "acme.triggers.Broken": BlocksWithoutPoll,
        "acme.other": ImportError(rule),
        "http": BlocksInPoll,
    }


def rule_that_exits(rule: str) -> dict[str, Any]:
    raise SystemExit(rule)


RULE = {"acme.**": f"{__name__}:classes_of_rule"}


def test_a_rule_registers_each_class_that_its_function_returns() -> None:
    assert load(RULE).find("acme.triggers.Waits") is BlocksInPoll


@pytest.mark.parametrize(
    ("name", "why"), [("acme.triggers.Broken", "a plain `def poll(self)`"), ("acme.other", "ImportError: acme.**")]
)
def test_an_unusable_class_of_a_rule_fails_only_its_own_waits(name: str, why: str) -> None:
    unusable = load(RULE).find(name)
    assert isinstance(unusable, Unknown)
    assert why in unusable.message


@pytest.mark.attack
def test_a_rule_replaces_no_class_of_torpors_own() -> None:
    assert load(RULE).find("http") is load({}).find("http")


@pytest.mark.attack
def test_a_rule_that_exits_does_not_end_the_process() -> None:
    unusable = load({"acme.**": f"{__name__}:rule_that_exits"})
    assert unusable.names == set(BUILT_IN) | {"acme.**"}


@pytest.mark.attack
def test_the_message_about_an_unknown_class_lists_few_of_many() -> None:
    many = registry.Registry({f"acme.Class{number:03}": lambda **_: BlocksInPoll() for number in range(500)})
    unknown = many.find("nothing")
    assert isinstance(unknown, Unknown)
    assert "acme.Class029 and 470 more" in unknown.message
