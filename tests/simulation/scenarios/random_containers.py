"""Random workflows whose pods have several containers, exit codes as results, and volumes of the run.

They are in seeds from FIRST_SEED on: the simulations of other seeds stay as they are.
"""

import random

from torpor_local.apiserver.history import Object

FIRST_SEED = 50_000
_NAMESPACE = "flows"
_VOLUME = "work"
_DELETIONS = ("AtEnd", "AtEnd", "AfterSuccess", "WithRun", "Never")
_CODES = ("0", "0", "0", "1")
_RESULT_CODES = ("0", "1", "7", "125", "126", "200")


def workflow(rng: random.Random, name: str) -> Object:
    """One Workflow of one to three container tasks."""
    tasks: list[Object] = []
    for number in range(rng.choice((1, 2, 2, 3))):
        tasks.append(_task(rng, f"t{number}", [task["name"] for task in tasks]))
    spec: Object = {"image": "image:1", "tasks": tasks, "parallelism": rng.choice((1, 2, 10))}
    if rng.random() < 0.6:
        spec["volumeClaims"] = [{"name": _VOLUME, "size": "1Gi", "deletion": rng.choice(_DELETIONS)}]
        for task in tasks:
            if rng.random() < 0.7:
                mounts = [{"name": _VOLUME, "mountPath": "/work"}]
                task["pod"] = task.get("pod", {}) | {"volumeMounts": mounts}
    if rng.random() < 0.15:
        spec["ttlAfterFinished"] = "10s"
    return {"metadata": {"name": name, "namespace": _NAMESPACE}, "spec": spec}


def _task(rng: random.Random, name: str, former: list[str]) -> Object:
    task: Object = {"name": name, "container": _container(rng)}
    pod: Object = {}
    if rng.random() < 0.4:
        pod["initContainers"] = [{"name": "fetch", "image": "fetch:1", "command": _script(rng, _CODES)}]
    if rng.random() < 0.4:
        pod["sidecars"] = [{"name": "proxy", "image": "proxy:1", "command": ["proxy"]}]
    if pod:
        task["pod"] = pod
    after = [name for name in former if rng.random() < 0.5]
    if after:
        task |= {"after": after, "rule": rng.choice(("all_success", "all_done"))}
    if rng.random() < 0.7:
        task["retries"] = {"limit": rng.choice((1, 2)), "delay": rng.choice(("1s", "3s"))}
    return task


def _container(rng: random.Random) -> Object:
    form = rng.choice(("steps", "steps", "code", "plain"))
    if form == "steps":
        steps = [{"name": f"step{number}", "command": _script(rng, _CODES)} for number in range(rng.choice((2, 3)))]
        for each in steps:
            if rng.random() < 0.4:
                each["result"] = "stdout"
        return {"steps": steps}
    if form == "code":
        return {"command": _script(rng, _RESULT_CODES), "result": "exitCode"}
    return {"command": _script(rng, _CODES)}


def _script(rng: random.Random, codes: tuple[str, ...]) -> list[str]:
    """The last attempt mostly succeeds, or few runs would."""
    attempts = [f"{rng.choice(codes)}/{rng.choice((1, 2, 4))}" for _ in range(rng.choice((1, 1, 2)))]
    return [*attempts, "0/1"]
