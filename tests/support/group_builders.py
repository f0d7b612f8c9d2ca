"""Workflows with task groups, for the tests of groups."""

import json
from collections.abc import Iterable
from typing import Any

from tests.support.builders import Body, python
from tests.support.plan_fixture import PlanFixture

CITIES: Body = {"name": "city", "expand": [{"name": "city", "over": ["Ulm", "Bonn", "Kiel"]}]}
FETCH = python("fetch", group="city", args={"city": "${groups.city.value}"})
LOAD = python("load", group="city", args={"rows": "${tasks.fetch.result}"})
REPORT = python("report", args={"all": "${tasks.load.results}"})

COUNTRY: Body = {"name": "country", "expand": [{"name": "country", "over": "${tasks.list.result}"}]}
TOWN: Body = {"name": "town", "in": "country", "expand": [{"name": "town", "over": "${groups.country.value.towns}"}]}
PLACES = [{"name": "de", "towns": ["Ulm", "Bonn"]}, {"name": "fr", "towns": ["Lyon"]}, {"name": "li", "towns": []}]


def run(*tasks: Body, groups: Iterable[Body] = (CITIES,), **spec: Any) -> PlanFixture:
    return PlanFixture(*tasks, groups=list(groups), **spec).settle()


def succeed_all(world: PlanFixture, task: str, count: int) -> None:
    for index in range(count):
        world.succeed(task, json.dumps(index), index=(index,))


def nested() -> PlanFixture:
    """Towns in countries; the visit of each town is mapped too, and each country has a total."""
    visit = python(
        "visit", group="town", args={"of": "${groups.country.value.name}"}, expand=[{"name": "n", "over": [1, 2]}]
    )
    total = python("total", group="country", args={"visits": "${tasks.visit.results}"})
    results = {"totals": "${tasks.total.results}", "visits": "${tasks.visit.results}"}
    report = python("report", args=results, rule="none_failed")  # a country may have no towns
    world = run(python("list"), visit, total, report, groups=[COUNTRY, TOWN])
    return world.succeed("list", json.dumps(PLACES))
