"""Random Schedules: sources of all kinds, policies, and runs of one or two tasks.

Cron sources tick in one or two minutes of the clock, then not for a year, so that every simulation comes to rest.
"""

import random
from typing import Any

from torpor_local.apiserver.history import Object

from tests.simulation.process import EPOCH
from tests.simulation.scenarios.random_workflows import NAMESPACE

FIRST_SEED = 20_000
"""Simulations from this seed on have Schedules, and no other Workflows than their runs."""
BELLS_UNTIL = 35.0
_PYTHON = "tests.simulation.actors.tasks:perform"
_WORK = ("ok", "ok", "work:1", "work:4", "work:6", "raise", "defer:2")
_ZONES = (("UTC", 22), ("Europe/Berlin", 23), (None, 22))
_MINUTES = ("13", "13", "13", "13-14")
"""Of the hour in which every simulation begins, at 22:13:20 UTC."""


def schedule(rng: random.Random, name: str) -> Object:
    """One Schedule."""
    sources = [_source(rng, name, f"s{number}") for number in range(rng.choice((1, 1, 2, 2, 3)))]
    spec: Object = {"sources": sources, "workflow": _workflow(rng)} | policies(rng)
    if all("trigger" in source for source in sources):
        _restrict(rng, spec)
    if len(sources) > 1 and rng.random() < 0.4:
        _join(rng, spec)
    if rng.random() < 0.15:
        spec["jitter"] = "4s"
    if rng.random() < 0.15:
        spec["pauseAfterFailures"] = rng.choice((1, 2))
    if rng.random() < 0.6:
        kept = (0, 1, 3)
        spec["history"] = {"succeeded": rng.choice(kept), "failed": rng.choice(kept)}
    if rng.random() < 0.3:
        spec["deletionPolicy"] = "Delete"
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def policies(rng: random.Random) -> Object:
    """What happens to events while runs are active, and to missed ticks."""
    spec: Object = {"concurrencyPolicy": rng.choice(("Allow", "Allow", "Forbid", "Replace", "Queue", "Queue"))}
    if rng.random() < 0.6:
        spec["maxActive"] = rng.choice((1, 1, 2, 3))
    if spec["concurrencyPolicy"] == "Queue":
        spec["maxQueued"] = rng.choice((0, 1, 3))
    if rng.random() < 0.8:
        spec["missed"] = {"within": rng.choice(("5s", "20s", "1h")), "run": rng.choice(("None", "Last", "All", "All"))}
    return spec


def cron(rng: random.Random) -> Object:
    """A cron expression with its zone."""
    zone, hour = rng.choice(_ZONES)
    minutes = rng.choice(_MINUTES)
    every = rng.choice(("5", "7", "10", "10", "20") if minutes == "13" else ("20", "30"))
    return {"cron": f"*/{every} {minutes} {hour} 14 11 *"} | ({"timezone": zone} if zone else {})


def _source(rng: random.Random, schedule: str, name: str) -> Object:
    match rng.choice(("cron", "cron", "log", "log", "bell")):
        case "cron":
            return {"name": name} | cron(rng)
        case "log":
            trigger: Object = {"class": "log", "kwargs": {"log": f"{schedule}/{name}"}}
            return {"name": name, "trigger": trigger, "cursor": "0"}
        case _:
            kwargs: Any = {"pause": rng.choice((2.0, 4.0, 8.0)), "until": EPOCH + BELLS_UNTIL}
            return {"name": name, "trigger": {"class": "bell", "kwargs": kwargs}}


def _workflow(rng: random.Random) -> Object:
    tasks: list[Object] = [_task(rng, "t0")]
    if rng.random() < 0.2:
        tasks.append(_task(rng, "t1") | {"after": ["t0"]})
    return {"image": "image:1", "tasks": tasks}


def _task(rng: random.Random, name: str) -> Object:
    word = rng.choice(_WORK)
    script = [[word, "ok"] if word.startswith("defer") else [word]]
    return {"name": name, "python": _PYTHON, "args": {"script": script}}


def _restrict(rng: random.Random, spec: Object) -> None:
    """Events that start no run: `when` is false for each third, and `params` fail for each fourth."""
    if rng.random() < 0.4:
        spec["when"] = "event.number % 3 != 0"
    if rng.random() < 0.4:
        spec["params"] = {"first": "${event.list[0]}"}


def _join(rng: random.Random, spec: Object) -> None:
    spec.pop("when", None)
    spec.pop("params", None)
    spec["allOf"] = [source["name"] for source in spec["sources"][:2]]
    if rng.random() < 0.4:
        spec["within"] = rng.choice(("5s", "30s"))
