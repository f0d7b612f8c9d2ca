"""Groups within groups, and mapped tasks within mapped groups."""

from tests.support.group_builders import nested


def test_a_group_within_a_group_has_items_of_its_own_at_each_index() -> None:
    world = nested()
    visits = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1)]
    assert sorted(world.by_name(name).spec.path for name in world.taskruns if "visit" in name) == visits
    assert world.arguments("visit", (1, 0, 1)) == {"of": '"fr"', "n": "2"}
    assert "-visit-1-0-1-" in world.run("visit", (1, 0, 1)).metadata.name


def test_a_task_of_the_outer_group_takes_what_is_below_its_index() -> None:
    world = nested()
    for path in [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)]:
        world.succeed("visit", "1", index=path)
    assert world.arguments("total", (0,))["visits"] == {
        "task": "visit",
        "field": "results",
        "groupIndexes": [0],
        "count": 1,
        "paths": "0-1.0-1",
        "mapped": True,
        "missing": "",
    }
    assert not world.has("total", (1,))


def test_an_index_without_items_is_skipped_and_the_run_goes_on() -> None:
    world = nested()
    for path in [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1)]:
        world.succeed("visit", "1", index=path)
    world.succeed("total", "2", index=(0,)).succeed("total", "2", index=(1,))
    assert world.tasks()["total"] == "Succeeded"
    assert world.task("total").skipped == 1
    report = world.arguments("report")
    assert (report["totals"]["paths"], report["totals"]["missing"]) == ("0-2", "2")
    assert report["visits"]["paths"] == "0.0-1.0-1,1.0.0-1"
    world.succeed("report")
    assert world.status.state == "Succeeded"
