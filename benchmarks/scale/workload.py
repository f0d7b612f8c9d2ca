"""The Workflows of the bench: those that run, and those that wait forever and are copied."""

import asyncio
import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from torpor_kubernetes.client.resources import PODS, WORKFLOWS
from torpor_wire import constants

from benchmarks.harness.control_plane import NAMESPACE
from benchmarks.harness.runs import WatchedRuns, step
from benchmarks.harness.waiting import Object, until
from benchmarks.scale import copies
from benchmarks.scale.copies import CopyTarget
from benchmarks.scale.system import ScaleSystem
from benchmarks.scale.worker import DEFERRING, MOMENT

TRIGGERS, PYTHON = "waiting", DEFERRING
"""How the names of Workflows begin, by how their tasks came to wait."""
LARGE = "large"
_LIMIT = 3600.0
_LOOK = 1.0
_AXIS = 100
_AT_ONCE = 50


def waiting(count: int) -> tuple[Object, Mapping[str, Any]]:
    """A task with so many instances that wait for moments that never come, and what its Workflow needs for it."""
    parts = [[f"{number:02d}" for number in range(count // _AXIS)], [f"{number:02d}" for number in range(_AXIS)]]
    axes = dict(zip(("row", "n"), parts, strict=True))
    if count % _AXIS:
        axes = {"n": [f"{number:04d}" for number in range(count)]}
    values = [f"mapping.value.{name}" for name in axes] if len(axes) > 1 else ["mapping.value"]
    moment = MOMENT + "." + "".join(f"${{{value}}}" for value in values) + "Z"
    return _mapped(axes, trigger={"class": "time", "kwargs": {"at": moment}}), _limits(count)


def firing(count: int, duration: str) -> tuple[Object, Mapping[str, Any]]:
    """The same, but each ends after this duration."""
    return _mapped({"duration": [duration] * count}, trigger={"class": "duration"}), _limits(count)


def deferring(count: int) -> tuple[Object, Mapping[str, Any]]:
    """The same as python tasks: a pod each, which defers. The pods that have ended are deleted soon."""
    return step("each", expand=[{"name": "n", "over": list(range(count))}]), {**_limits(count), "podsTTL": "10s"}


async def deferred(on: ScaleSystem, name: str, count: int) -> None:
    """Return once the status of the Workflow says that so many of its instances wait."""

    async def all_wait() -> bool:
        return await _deferred(on, name) >= count

    await until(all_wait, _LIMIT, every=_LOOK)


async def removed(on: ScaleSystem, *names: str) -> None:
    """Delete Workflows with all that they own, and return once that is gone."""
    for name in names:
        await on.plane.api.delete(WORKFLOWS, NAMESPACE, name)
        await until(functools.partial(_gone, on, name), _LIMIT, every=_LOOK)


async def seed(on: ScaleSystem, runs: WatchedRuns) -> None:
    """Create one Workflow of both kinds with the operator, and copy them in etcd while no operator runs."""
    each = on.sizes.each
    kinds = {TRIGGERS: waiting(each), PYTHON: deferring(each)}
    for kind, (task, limits) in kinds.items():
        await runs.start(f"{kind}-0", [task], **limits)
    for kind in kinds:
        await deferred(on, f"{kind}-0", each)
    await _without_pods(on, f"{PYTHON}-0")
    await on.calm()
    await on.end_operators()
    templates = {kind: await _template(on, f"{kind}-0") for kind in kinds}
    for target in targets(on):
        await _copy(on, templates[target.name.partition("-")[0]], target)


async def check(on: ScaleSystem) -> None:
    """Check that the operator counts each copy as a wait and that no client has changed one. Raises SystemExit."""
    for to in targets(on):
        counted = await _deferred(on, to.name, to.namespace)
        versions = [version for _, version in (await on.plane.etcd.sizes(_begins(to.name, to.namespace))).values()]
        if (counted, versions) != (on.sizes.each, [1] * on.sizes.each):
            written = sum(version > 1 for version in versions)
            raise SystemExit(f"{to.name}: {counted} wait, {len(versions)} are stored, {written} were written to")


def targets(on: ScaleSystem) -> list[CopyTarget]:
    """The Workflows to make, beside the first of each kind."""
    spaces = on.namespaces
    return [
        CopyTarget(
            name=f"{(TRIGGERS, PYTHON)[number % 2]}-{number}",
            namespace=spaces[number // 2 % len(spaces)],
            number=number,
        )
        for number in range(2, on.sizes.workflows)
    ]


async def _template(on: ScaleSystem, name: str) -> tuple[Object, list[Object]]:
    """The stored Workflow, and its TaskRuns."""
    runs = sorted(await on.plane.etcd.sizes(_begins(name)))
    (workflow,) = await _read(on, [f"{copies.folder('workflows', NAMESPACE)}{name}"])
    return workflow, await _read(on, runs)


async def _copy(on: ScaleSystem, template: tuple[Object, list[Object]], to: CopyTarget) -> None:
    workflow, runs = template
    # The Workflow first, or the garbage collector finds TaskRuns whose owner does not exist.
    await on.plane.etcd.write(_stored("workflows", [copies.workflow(workflow, to)]), at_once=1)
    await on.plane.etcd.write(_stored("taskruns", [copies.taskrun(run, to) for run in runs]), at_once=1)


def _begins(workflow: str, namespace: str = NAMESPACE) -> str:
    return f"{copies.folder('taskruns', namespace)}{workflow}-each-"


async def _read(on: ScaleSystem, keys: Sequence[str]) -> list[Object]:
    limit = asyncio.Semaphore(_AT_ONCE)

    async def read(key: str) -> Object:
        async with limit:
            body: Object = json.loads(await on.plane.etcd.read(key))
            return body

    return await asyncio.gather(*map(read, keys))


def _stored(plural: str, bodies: Sequence[Object]) -> dict[str, bytes]:
    return {copies.key(plural, body): json.dumps(body, separators=(",", ":")).encode() for body in bodies}


def _mapped(axes: Mapping[str, Sequence[Any]], **fields: Any) -> Object:
    return {"name": "each", "expand": [{"name": name, "over": list(over)} for name, over in axes.items()], **fields}


def _limits(count: int) -> dict[str, int]:
    return {"parallelism": count, "maxMapSize": count}


async def _deferred(on: ScaleSystem, name: str, namespace: str = NAMESPACE) -> int:
    status = (await on.plane.api.get(WORKFLOWS, namespace, name)).get("status", {})
    if "completionTime" in status:
        raise SystemExit(f"{name} has ended: {json.dumps(status)}")
    return sum(task.get("deferred", 0) for task in status.get("tasks", []))


async def _gone(on: ScaleSystem, name: str) -> bool:
    keys = await on.plane.etcd.sizes(_begins(name))
    selector = f"{constants.LABEL_WORKFLOW}={name}"
    pods = (await on.plane.api.list(PODS, NAMESPACE, label_selector=selector)).items
    return not (keys or pods)


async def _without_pods(on: ScaleSystem, workflow: str) -> None:
    selector = f"{constants.LABEL_WORKFLOW}={workflow}"

    async def none() -> bool:
        return not (await on.plane.api.list(PODS, NAMESPACE, label_selector=selector)).items

    await until(none, _LIMIT, every=_LOOK)
