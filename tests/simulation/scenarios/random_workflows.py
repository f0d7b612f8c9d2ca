"""Random small workflows with all kinds of tasks and outcomes."""

import copy
import json
import random
from typing import Any

from torpor_kubernetes.client.resources import CONFIG_MAPS
from torpor_local.apiserver.history import Object
from torpor_wire import constants
from torpor_wire.enums import TriggerRule

from tests.simulation.scenarios import random_groups, random_retries
from tests.support.fake_api import FakeApi

NAMESPACE = "flows"
POOL = "few"
_SLOTS: Object = {"metadata": {"name": constants.POOLS_CONFIG, "namespace": NAMESPACE}, "data": {POOL: "2"}}
_ENDS = ("ok", "ok", "ok", "work:1", "work:6", "raise", "raise", "final", "exit", "vanish")
_GROUPS = 0.15
"""Of the workflows; of two in a simulation, one is enough."""
_SHORT_LIVED_PODS = 0.3
_HOOKS = 0.2
_SKIPS = 0.4
"""Of the workflows."""
_WAITS = (
    "defer:2",
    "defer:6",
    "poll:1",
    "poll:4",
    "poll:4",
    "share:4",
    "share:12",
    "brief:12",
    "many:3",
    "many:6",
    "bad",
)
_CONTAINER_WAITS = ("defer:2", "defer:6", "poll:1", "poll:4", "share:4", "brief:12", "late:12", "bad")
_CONTAINERS_DEFER = 0.5
"""Of the container tasks."""


def workflow(rng: random.Random, name: str, *, short_pods: bool = False) -> Object:
    """One Workflow of one to four tasks. `short_pods`: some delete their pods soon after the end."""
    tasks: list[Object] = []
    for number in range(rng.choice((1, 1, 2, 3, 4))):
        tasks.append(_task(rng, f"t{number}", [task["name"] for task in tasks]))
    spec: Object = {"image": "image:1", "tasks": tasks, "parallelism": rng.choice((1, 2, 10))}
    if rng.random() < 0.08:
        spec["timeout"] = "40s"
    if rng.random() < 0.15:
        spec["ttlAfterFinished"] = "10s"
    drawn = json.dumps(spec)
    _enrich(random.Random(drawn), tasks)
    apart = random.Random(f"groups of {drawn}")
    if apart.random() < _GROUPS:
        random_groups.arrange(apart, spec, _python, (_trigger, _container))
    last = random.Random(f"hook of {drawn}")
    if last.random() < _HOOKS:
        spec["tasks"].append({"name": "last", "hook": last.choice(("end", "end", "failure"))} | _python(last, []))
    apart = random.Random(f"skips of {drawn}")
    if apart.random() < _SKIPS:
        _skip(apart, spec["tasks"])
    _defer_containers(random.Random(f"deferrals of {drawn}"), spec["tasks"])
    random_retries.arrange(random.Random(f"retries of {drawn}"), spec["tasks"])
    if short_pods and random.Random(f"pods of {drawn}").random() < _SHORT_LIVED_PODS:
        spec["podsTTL"] = "1s"
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def make_room(fake: FakeApi, body: Object) -> None:
    """The pool that its tasks name, where they name one."""
    pooled = any("pool" in task for task in body["spec"]["tasks"])
    if pooled and fake.get(CONFIG_MAPS, NAMESPACE, constants.POOLS_CONFIG) is None:
        fake.put(CONFIG_MAPS, _SLOTS)


def _task(rng: random.Random, name: str, former: list[str]) -> Object:
    task: Object = {"name": name} | rng.choices((_python, _trigger, _container), (8, 3, 4))[0](rng, former)
    after = [name for name in former if rng.random() < 0.5]
    if after:
        task |= {"after": after, "rule": rng.choice(("all_success", "all_done", "all_done"))}
    if rng.random() < 0.6:
        task["retries"] = {"limit": rng.choice((1, 2)), "delay": rng.choice(("1s", "3s")), "backoff": 2}
    return task


def _enrich(rng: random.Random, tasks: list[Object]) -> None:
    """What some tasks have besides: drawn apart, so that the other simulations stay what they were."""
    for task in tasks:
        if "after" in task and rng.random() < 0.4:
            task["rule"] = rng.choice(random_groups.RULES)
        if "python" in task and rng.random() < 0.2:
            task["pool"] = POOL
        if "expand" not in task:
            continue
        if rng.random() < 0.3:
            task["expand"].append({"name": "other", "over": {"a": 1, "b": None}})
        if rng.random() < 0.3:
            task["when"] = rng.choice(("mapping.index != 1", "mapping.index > 5", "mapping.index % 2 == 0"))
        if rng.random() < 0.3:
            task["maxActive"] = rng.choice((1, 2))
        if rng.random() < 0.3:
            task["displayName"] = "number ${mapping.index}"


def _skip(rng: random.Random, tasks: list[Object]) -> None:
    """Tasks that skip themselves, and triggers whose events end their task: drawn apart, as what enriches them."""
    for task in tasks:
        script = copy.deepcopy(task.get("args", {}).get("script"))
        if script is not None and rng.random() < 0.6:
            task["args"] = {**task["args"], "script": script}
            attempt = rng.choice(script)
            # A task that returns its position does not return the payload of an event.
            words = ("skip", "skip", "skips", "fails") if "at" in task["args"] else ("skip", "skips", "ends", "fails")
            word = rng.choice(words)
            if word == "skip" and rng.random() < 0.7:
                script[0] = [word]  # at once, or little would ever be skipped
            elif word == "skip":
                attempt[-1] = word
            else:
                attempt.insert(rng.randrange(len(attempt)), f"{word}:{rng.choice((1, 3))}")
        if task.get("trigger", {}).get("class") == "odd" and rng.random() < 0.5:
            kwargs = {**task["trigger"]["kwargs"], "word": rng.choice(("skips", "ends", "fails"))}
            task["trigger"] = {**task["trigger"], "kwargs": kwargs}
        if "after" in task and rng.random() < 0.6:
            task["rule"] = rng.choice(
                (TriggerRule.ALL_SUCCESS, TriggerRule.ALL_SUCCESS, TriggerRule.ALL_DONE_MIN_ONE_SUCCESS)
            ).value


def _defer_containers(rng: random.Random, tasks: list[Object]) -> None:
    """Containers that defer, skip themselves or fail for good: drawn apart, as the others."""
    for task in tasks:
        if "container" not in task or rng.random() >= _CONTAINERS_DEFER:
            continue
        attempts = []
        for end in task["container"]["command"]:
            last = rng.choice((end, end, end, "skip:1", "final:1"))
            attempts.append("+".join([*rng.choices(_CONTAINER_WAITS, k=rng.choice((1, 1, 2, 3))), last]))
        task["container"] = {"command": attempts, "outcome": True}


def _python(rng: random.Random, former: list[str]) -> Object:
    script = [_attempt(rng) for _ in range(rng.choice((1, 2, 3)))]
    task: Object = {"python": "tests.simulation.actors.tasks:perform", "args": {"script": script}}
    if rng.random() < 0.25:
        over: Any = [1, 2, 3] if rng.random() < 0.6 or not former else f"${{tasks.{former[-1]}.result}}"
        task["expand"] = [{"name": "item", "over": over}]
    hangs = any("hang" in attempt for attempt in script)
    if hangs or rng.random() < 0.1:
        task["timeout"] = rng.choice(("8s", "15s"))
    return task


def _attempt(rng: random.Random) -> list[str]:
    waits = rng.choices(_WAITS, k=rng.choice((0, 0, 1, 1, 2)))
    return [*waits, "hang" if rng.random() < 0.04 else rng.choice(_ENDS)]


def _trigger(rng: random.Random, _: list[str]) -> Object:
    word = rng.choice(("poll", "poll", "poll", "bad", "mute", "time"))
    if word == "time":
        return {"trigger": {"class": "duration", "kwargs": {"duration": "3s"}}}
    looks = rng.choice((1, 3, 200))
    timeout = {"timeout": "12s"} if looks > 100 or rng.random() < 0.2 else {}
    return {"trigger": {"class": "odd", "kwargs": {"looks": looks, "word": word}} | timeout}


def _container(rng: random.Random, _: list[str]) -> Object:
    attempts = [rng.choice(("ok:1", "ok:3", "fail:1")) for _ in range(rng.choice((1, 2)))]
    return {"container": {"command": attempts, "outcome": True}}
