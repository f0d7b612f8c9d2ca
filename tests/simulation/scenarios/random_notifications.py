"""Random workflows that notify a web service, some of which are deleted soon after their end.

They are in seeds from FIRST_SEED on: the simulations of other seeds stay as they are.
"""

import random

from torpor_local.apiserver.history import Object

FIRST_SEED = 80_000
_NAMESPACE = "flows"
_ENDS = ("ok", "ok", "ok", "work:3", "raise", "exit")


def workflow(rng: random.Random, name: str) -> Object:
    """One Workflow of one or two tasks with one or two receivers."""
    tasks: list[Object] = [_task(rng, f"t{number}") for number in range(rng.choice((1, 1, 2)))]
    spec: Object = {"image": "image:1", "tasks": tasks, "notify": [_entry(rng, "a")]}
    if rng.random() < 0.3:
        spec["notify"].append(_entry(rng, "b"))
    if rng.random() < 0.4:
        spec["ttlAfterFinished"] = rng.choice(("0s", "5s"))
    return {"metadata": {"name": name, "namespace": _NAMESPACE}, "spec": spec}


def _entry(rng: random.Random, name: str) -> Object:
    entry: Object = {"name": name, "events": ["failure", "success"], "to": {"webhook": {"url": f"http://web/{name}"}}}
    if rng.random() < 0.4:
        entry["events"].append("late")
        entry["after"] = rng.choice(("1s", "4s"))
    if rng.random() < 0.5:
        entry["title"] = "${run.name} ${notification.event}"
    return entry


def _task(rng: random.Random, name: str) -> Object:
    if rng.random() < 0.3:
        return {"name": name, "trigger": {"class": "duration", "kwargs": {"duration": rng.choice(("1s", "3s"))}}}
    args = {"script": [[rng.choice(_ENDS)]], "item": 1}
    return {"name": name, "python": "tests.simulation.actors.tasks:perform", "args": args}
