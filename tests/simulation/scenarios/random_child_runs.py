"""Random workflows whose tasks are runs of templates, with tasks beside them.

They are in seeds from FIRST_SEED on: the simulations of other seeds stay as they are.
"""

import random

from torpor_kubernetes.client.resources import TEMPLATES
from torpor_local.apiserver.history import Object

from tests.support.fake_api import FakeApi

FIRST_SEED = 60_000
_NAMESPACE = "flows"
_LEAF, _NESTED = "leaf", "nested"
_ENDS = ("ok", "ok", "ok", "ok", "work:3", "raise", "exit")
_RESULTS = ("params.number", "[params.number, tasks.t0.state]")


def put_templates(rng: random.Random, fake: FakeApi) -> None:
    """Create the templates: one of tasks with pods, and one that runs the first."""
    leaf: Object = {
        "image": "image:1",
        "result": rng.choice(_RESULTS),
        "tasks": [_python(rng, "t0", "${params.number}")],
    }
    if rng.random() < 0.5:
        pause = rng.choice(("3s", "15s", "60s"))
        later = {} if pause == "3s" else {"after": ["t0"], "rule": "all_done"}
        leaf["tasks"].append(
            {"name": "pause", "trigger": {"class": "duration", "kwargs": {"duration": pause}}, **later}
        )
    if rng.random() < 0.3:
        leaf["ttlAfterFinished"] = "0s"
    nested: Object = {
        "image": "image:1",
        "result": "tasks.inner.result",
        "tasks": [_run(_LEAF, "inner", params={"number": "${params.number + 1}"}, **_retries(rng))],
    }
    for name, workflow in ((_LEAF, leaf), (_NESTED, nested)):
        spec = {"params": [{"name": "number", "type": "integer"}], "workflow": workflow}
        fake.put(TEMPLATES, {"metadata": {"name": name, "namespace": _NAMESPACE}, "spec": spec})


def workflow(rng: random.Random, name: str) -> Object:
    """One Workflow of one to three tasks, most of which are runs."""
    tasks: list[Object] = []
    for number in range(rng.choice((1, 2, 2, 3))):
        tasks.append(_task(rng, f"t{number}", [task["name"] for task in tasks]))
    spec: Object = {"image": "image:1", "tasks": tasks, "parallelism": rng.choice((1, 2, 10))}
    if rng.random() < 0.15:
        spec["ttlAfterFinished"] = "10s"
    return {"metadata": {"name": name, "namespace": _NAMESPACE}, "spec": spec}


def _task(rng: random.Random, name: str, former: list[str]) -> Object:
    if rng.random() < 0.2:
        task = _python(rng, name, "7")
    else:
        template = rng.choice((_LEAF, _LEAF, _NESTED))
        timeout = {"timeout": "12s"} if rng.random() < 0.15 else {}
        if rng.random() < 0.4:
            task = _run(template, name, expand=[{"name": "number", "over": [1, 2, 3][: rng.choice((1, 2, 3))]}])
        else:
            task = _run(template, name, params={"number": rng.randint(1, 9)})
        task["run"] |= timeout | _options(rng)
        task |= _retries(rng)
    after = [name for name in former if rng.random() < 0.5]
    return task | ({"after": after, "rule": rng.choice(("all_success", "all_done"))} if after else {})


def _run(template: str, name: str, params: Object | None = None, **fields: object) -> Object:
    call: Object = {"templateRef": {"name": template}} | ({"params": params} if params else {})
    return {"name": name, "run": call, **fields}


def _options(rng: random.Random) -> Object:
    """The name of a run, whether its task waits for it, and whether it outlives its task."""
    chosen = rng.random()
    if chosen < 0.12:
        return {"wait": False}
    policy = {"deletionPolicy": "Retain"} if chosen < 0.3 else {}
    return policy | ({"name": rng.choice(("same", "named-${params.number}"))} if rng.random() < 0.15 else {})


def _retries(rng: random.Random) -> Object:
    return {"retries": {"limit": 1, "delay": rng.choice(("1s", "3s"))}} if rng.random() < 0.5 else {}


def _python(rng: random.Random, name: str, number: str) -> Object:
    script = [[rng.choice(_ENDS)] for _ in range(rng.choice((1, 1, 2)))]
    args = {"script": script, "item": number}
    return {"name": name, "python": "tests.simulation.actors.tasks:perform", "args": args, **_retries(rng)}
