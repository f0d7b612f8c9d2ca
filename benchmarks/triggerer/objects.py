"""`python -m benchmarks.triggerer.objects`: what object tasks cost while they wait, in operator and triggerers.

The shipped operator and two triggerers run as processes against a real API server. Each task has created a ConfigMap,
and waits for it by the watch that all tasks share. Prints a Markdown table and writes JSON.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torpor_demo.install import SYSTEM
from torpor_kubernetes.client.resources import CONFIG_MAPS, TASKRUNS, WORKFLOWS, Resource
from torpor_wire import constants

from benchmarks.harness import program, usage
from benchmarks.harness.control_plane import NAMESPACE
from benchmarks.harness.figures import Figure
from benchmarks.harness.waiting import until
from benchmarks.schedules.system import OPERATOR, SERVERS, TRIGGERERS, ScheduleSystem, open_system
from tests.support.manifests import manifest

_ACCOUNT = "builder"
_WIDTH = 500
"""Tasks of a run."""
_RBAC = "rbac.authorization.k8s.io"
_VERBS = ["create", "get", "list", "watch", "delete"]
_LOOK = 5.0
_LIMIT = 3600.0
_MIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSizes:
    """Tasks that wait, and seconds of idleness. The figure of the issue is for 5,000 tasks."""

    tasks: int = 5000
    idle: float = 60.0


def main() -> int:
    """Measure, print and write. Returns 1 if it could not be measured."""
    parser = program.parser(__doc__, "objects", ObjectSizes)
    parser.add_argument("--logs", type=Path, help="folder for the logs of operator and triggerers")
    given = parser.parse_args()
    sizes = program.chosen_sizes(given, ObjectSizes)
    figures = program.attempt_alone("objects", _measure(sizes, given.logs), program.shown_figures)
    if figures is None:
        return 1
    program.report(given, "objects", figures, sizes=asdict(sizes))
    return 0


async def _measure(sizes: ObjectSizes, logs: Path | None) -> list[Figure]:
    async with open_system(logs) as on:
        for body in _rights():
            await asyncio.to_thread(on.plane.admin.run, "apply", "-f", "-", stdin=json.dumps(body))
        before, cpu = _memory(on), on.cpu()
        for number, start in enumerate(range(0, sizes.tasks, _WIDTH)):
            await on.plane.api.create(WORKFLOWS, NAMESPACE, _run(number, min(_WIDTH, sizes.tasks - start)))
        await until(lambda: _waits(on, sizes.tasks), _LIMIT, every=_LOOK)
        started = _spent(cpu, on.cpu())
        await asyncio.sleep(sizes.idle)
        cpu = on.cpu()
        await asyncio.sleep(sizes.idle)
        return _figures(sizes, before, _memory(on), started, _spent(cpu, on.cpu()))


def _rights() -> list[Mapping[str, Any]]:
    """The opt-in of the namespace, and an account that may act on ConfigMaps."""

    def binding(name: str, kind: str, account: str, namespace: str) -> Mapping[str, Any]:
        subjects = [{"kind": "ServiceAccount", "name": account, "namespace": namespace}]
        role = {"apiGroup": _RBAC, "kind": kind, "name": name}
        return _body(f"{_RBAC}/v1", "RoleBinding", name, roleRef=role, subjects=subjects)

    account = _body("v1", "ServiceAccount", _ACCOUNT)
    account["metadata"]["annotations"] = {constants.ACCOUNT_TOKENS: constants.TOKENS_ALLOWED}
    rules = [{"apiGroups": [""], "resources": [CONFIG_MAPS.plural], "verbs": _VERBS}]
    return [
        account,
        _body(f"{_RBAC}/v1", "Role", _ACCOUNT, rules=rules),
        binding(_ACCOUNT, "Role", _ACCOUNT, NAMESPACE),
        binding("torpor-object-tasks", "ClusterRole", "torpor-triggerer", SYSTEM),
    ]


def _body(api_version: str, kind: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, **fields}


def _run(number: int, width: int) -> Mapping[str, Any]:
    created = {"apiVersion": "v1", "kind": CONFIG_MAPS.kind, "data": {"number": "${string(mapping.value)}"}}
    call = {"serviceAccountName": _ACCOUNT, "manifest": created, "until": "object.data.state == 'done'"}
    task = {"name": "wait", "expand": [{"name": "number", "over": list(range(width))}], "object": call}
    return manifest("Workflow", f"objects-{number}", {"parallelism": width, "tasks": [task]}, namespace=NAMESPACE)


async def _waits(on: ScheduleSystem, count: int) -> bool:
    """Whether all tasks wait, and have created their objects."""
    if await _count(on, TASKRUNS, "") < count:
        return False
    return await _count(on, CONFIG_MAPS, constants.LABEL_OBJECT_OF) >= count


async def _count(on: ScheduleSystem, resource: Resource, labels: str) -> int:
    async with aclosing(on.plane.api.pages(resource, NAMESPACE, label_selector=labels)) as pages:
        return sum([len(page.items) async for page in pages])


def _memory(on: ScheduleSystem) -> dict[str, float]:
    """MiB of the processes with their children."""
    triggerers = [usage.read_usage(each.pid).pss for each in on.triggerers]
    return {OPERATOR: usage.read_usage(on.operator.pid).pss / _MIB, TRIGGERERS: sum(triggerers) / _MIB}


def _spent(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    return {part: after[part] - before[part] for part in before}


def _figures(
    sizes: ObjectSizes,
    before: Mapping[str, float],
    after: Mapping[str, float],
    started: Mapping[str, float],
    idle: Mapping[str, float],
) -> list[Figure]:
    count = f"{sizes.tasks:,} object tasks that wait"
    figures = []
    for part in (OPERATOR, TRIGGERERS):
        each = "both triggerers" if part == TRIGGERERS else "the operator"
        memory = f"{before[part]:.0f} MiB before; {_MIB * (after[part] - before[part]) / sizes.tasks:.1f} KiB a task"
        started_by = f"CPU time of {each} for the start of a task"
        figures += [
            Figure(
                name=f"memory_{part}", what=f"{count}: memory of {each}", value=after[part], unit="MiB", aside=memory
            ),
            Figure(
                name=f"idle_cpu_{part}",
                what=f"{count}, idle for {sizes.idle:.0f} s: CPU time of {each}",
                value=idle[part],
                unit="s",
                aside=f"API server, etcd and controllers {idle[SERVERS]:.2f} s",
            ),
            Figure(name=f"start_cpu_{part}", what=started_by, value=1000 * started[part] / sizes.tasks, unit="ms"),
        ]
    return figures


if __name__ == "__main__":
    sys.exit(main())
