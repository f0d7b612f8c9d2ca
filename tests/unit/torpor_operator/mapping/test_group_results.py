"""What expressions see within groups: whether an answer holds, which item is meant, and what is no JSON."""

import json
from typing import Any

import pytest
from torpor_operator.model.actions import Need
from torpor_operator.model.snapshot import Answer, Snapshot

from tests.support.builders import Body, python
from tests.support.group_builders import CITIES, FETCH, LOAD, run
from tests.support.plan_world import ROUNDS, World

LISTED: Body = {"name": "g", "expand": [{"name": "g", "over": "${tasks.list.result}"}]}
LARGE = "x" * 2000


class Remembering(World):
    """The operator keeps the answers of a Workflow from plan to plan."""

    def __init__(self, *tasks: Body, **spec: Any) -> None:
        self.answers: dict[Need, Answer] = {}
        super().__init__(*tasks, **spec)

    def snapshot(self, known: dict[Need, Answer] | None = None) -> Snapshot:
        self.answers |= known or {}
        return super().snapshot(self.answers)


def test_an_answer_of_before_a_task_ended_at_all_indexes_is_none_of_after() -> None:
    state = {"state": "${tasks.load.state + '!'}"}
    first, last = python("first", args=state, rule="one_success"), python("last", args=state, rule="all_done")
    world = Remembering(FETCH, LOAD, first, last, groups=[CITIES]).settle()
    world.succeed("fetch", index=(0,)).succeed("load", index=(0,))
    world.fail("fetch", index=(1,)).fail("fetch", index=(2,))
    assert world.arguments("first") == {"state": '"Running!"'}
    assert world.arguments("last") == {"state": '"UpstreamFailed!"'}


def test_an_answer_at_one_index_is_none_at_another() -> None:
    load = python("load", group="city", args={"n": "${groups.city.index + tasks.fetch.result}"})
    world = Remembering(FETCH, load, groups=[CITIES]).settle()
    for index in range(3):
        world.succeed("fetch", "10", index=(index,))
    assert [world.arguments("load", (index,))["n"] for index in range(3)] == ["10", "11", "12"]


@pytest.mark.parametrize("field", [LARGE, "small"])
def test_a_field_that_is_called_like_the_groups_entry_is_not_the_whole_item(field: str) -> None:
    use = python("use", group="g", args={"x": "${groups.g.value.g}"})
    world = run(python("list"), use, groups=[LISTED]).succeed("list", json.dumps([{"g": field, "more": LARGE}]))
    assert world.arguments("use", (0,)) == {"x": json.dumps(field)}


def test_of_several_lists_one_item_is_read_where_it_is() -> None:
    both: Body = {"name": "g", "expand": [*LISTED["expand"], {"name": "n", "over": [1]}]}
    use = python("use", group="g", args={"x": "${groups.g.value.g}"})
    world = run(python("list"), use, groups=[both]).succeed("list", json.dumps([LARGE]))
    assert world.arguments("use", (0,))["x"] == {"task": "list", "field": "result", "count": 1, "item": 0}


def test_an_item_that_is_no_json_fails_what_is_made_from_it() -> None:
    many = python("many", expand=[{"name": "n", "over": [1, 2]}])
    outer: Body = {"name": "outer", "expand": [{"name": "o", "over": "${tasks.many.results}"}]}
    inner: Body = {"name": "inner", "in": "outer", "expand": [{"name": "i", "over": "${groups.outer.value}"}]}
    use, deep = python("use", group="outer", args={"x": "${groups.outer.value}"}), python("deep", group="inner")
    world = run(many, use, deep, groups=[outer, inner])
    world.succeed("many", "{", index=0).succeed("many", "[1]", index=1)
    world.succeed("use", index=(1,)).succeed("deep", index=(1, 0))
    assert world.tasks() == {"many": "Succeeded", "use": "Failed", "deep": "Failed"}
    assert "is not JSON" in str(world.task("use").message)
    assert "deep/0: group inner: what it is given is not JSON" in str(world.task("deep").message)


def test_what_is_asked_at_each_index_is_asked_at_many_at_a_time_though_slots_are_few() -> None:
    many: Body = {"name": "city", "expand": [{"name": "city", "over": list(range(2 * ROUNDS))}]}
    world = run(FETCH | {"when": f"groups.city.index >= {2 * ROUNDS - 1}"}, groups=[many], parallelism=1)
    assert [world.by_name(name).spec.frame for name in world.taskruns] == [(2 * ROUNDS - 1,)]
