"""The attacks. Each is bounded in number and time, and stays on loopback.

They are those of `tests/integration/attacks`, at the size at which they once succeeded.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from torpor_demo.install import SYSTEM
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.resources import CONFIG_MAPS, TASKRUNS, WORKFLOWS

from benchmarks.attacks import environment
from benchmarks.attacks.clients import IDLE, UPLOADS
from benchmarks.attacks.environment import ATTACKER, AttackEnvironment
from benchmarks.attacks.results import holder
from benchmarks.attacks.servers import HOST, SILENT_HOSTS
from benchmarks.harness.pod import NEVER
from benchmarks.harness.processes import start_nodes
from benchmarks.harness.runs import workflow
from benchmarks.harness.waiting import background, until

SECONDS = 40.0
"""For which an attack goes on at most, from when it is under way."""
_SILENT, _NAMES = 256, 100
_LARGE_WAITS = 20
_CONSTANT, _COPIES = 480_000, 200
_MAPPED, _ARGUMENT = 1_024, 8_000
_EXPRESSIONS = 200
_ROUNDS = 20
_LIMIT = 60.0
_LOOK = 0.5
_MOST = 0.9
_SETTLE = 2.0
_COSTLY = "[params.s].all(s, s.split('').all(x, s.replace(x, s).size() > 0))"
"""Takes a child's memory in 0.1 to 0.3 s of processor time, and with it the child."""
Object = dict[str, Any]
Counts = list[Mapping[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """`begin` yields once the attack is under way, with a list of sentences that is complete when it closes."""

    what: str
    begin: Callable[[AttackEnvironment], AbstractAsyncContextManager[list[str]]]
    on_results: bool = False
    """Whether the bystander namespace puts and gets results rather than run Workflows."""


@asynccontextmanager
async def answers(on: AttackEnvironment) -> AsyncIterator[list[str]]:
    """Round after round of waits on servers that answer with more than there is memory for."""
    async with _servers() as (ports, _):
        waits = [_large(ports, number) for number in range(_LARGE_WAITS)]
        async with _rounds(on, {"tasks": waits}, warm=True) as notes:
            yield notes


@asynccontextmanager
async def silent(on: AttackEnvironment) -> AsyncIterator[list[str]]:
    """Waits on servers that say nothing, and on names that no DNS server answers for."""
    async with _servers() as (ports, counts):
        hosts = [f"{SILENT_HOSTS[number % len(SILENT_HOSTS)]}:{ports['silent']}" for number in range(_SILENT)]
        names = [f"x{number}{NEVER}" for number in range(_NAMES)]
        tasks = [_mapped_http("silent", hosts), _mapped_http("names", names)]
        await _create(on, "silent", {"tasks": tasks})
        await _deferred(on, _SILENT + _NAMES)
        await asyncio.sleep(_SETTLE)
        notes: list[str] = []
        yield notes
        notes.append(f"at most {max(count['silent'] for count in counts)} connections to silent servers were open")
        notes += await _became(on)


@asynccontextmanager
async def constants(on: AttackEnvironment) -> AsyncIterator[list[str]]:
    """Round after round of Workflows whose large constant would be copied to each of many instances."""
    task = _python("copies", "x" * _CONSTANT, _COPIES)
    async with _rounds(on, {"image": "bench", "tasks": [task]}) as notes:
        yield notes


@asynccontextmanager
async def mapped(on: AttackEnvironment) -> AsyncIterator[list[str]]:
    """As many TaskRuns as a task may have by default, each with as much as each may have; their pods are played."""
    notes: list[str] = []
    async with start_nodes(on.plane):
        task = _python("each", "x" * _ARGUMENT, _MAPPED)
        began = time.monotonic()
        await _create(on, "mapped", {"image": "bench", "parallelism": _MAPPED, "tasks": [task]})
        yield notes
        if await _end(on, "mapped", _LIMIT):
            notes.append(f"ended within {time.monotonic() - began:.0f} s")
        notes += await _became(on)


@asynccontextmanager
async def expressions(on: AttackEnvironment) -> AsyncIterator[list[str]]:
    """Round after round of expressions that each end the child that evaluates them."""
    wait = {"class": "duration", "kwargs": {"duration": "1s"}}
    tasks = [{"name": f"t{number}", "when": _COSTLY, "trigger": wait} for number in range(_EXPRESSIONS)]
    async with _rounds(on, {"params": {"s": "ab" * 1200}, "tasks": tasks}) as notes:
        yield notes


@asynccontextmanager
async def connections(on: AttackEnvironment) -> AsyncIterator[list[str]]:
    """Connections to the archive that say nothing, and uploads that hardly go on."""
    task = await holder(on, ATTACKER)
    published = (await on.api.get(CONFIG_MAPS, SYSTEM, "torpor-archive"))["data"]
    words = ("-m", "benchmarks.attacks.clients", str(on.archive_port), task.path)
    async with environment.child(*words) as process, _counted(process) as counts:
        given = {"token": task.token, "authority": published["ca.crt"]}
        _given(process.stdin).write(json.dumps(given).encode() + b"\n")
        await until(lambda: bool(counts) and counts[-1]["idle"] >= IDLE * _MOST, _LIMIT, every=_LOOK)
        notes: list[str] = []
        yield notes
        most = {kind: max(count[kind] for count in counts) for kind in ("idle", "uploads")}
        closed = counts[-1]["closed"]
        notes.append(f"at most {most['idle']} idle and {most['uploads']} uploads were open; {closed} were closed")


ATTACKS: Mapping[str, Attack] = {
    "answers": Attack(
        what=f"rounds of {_LARGE_WAITS} waits on HTTP, S3, Redis and PostgreSQL that answer with 200 MB and more",
        begin=answers,
    ),
    "silent": Attack(what=f"{_SILENT} waits on silent servers, {_NAMES} on names never resolved", begin=silent),
    "constants": Attack(
        what=f"rounds of a Workflow of {_CONSTANT // 1000} kB of constants, `expand` over {_COPIES}", begin=constants
    ),
    "mapped": Attack(
        what=f"{_MAPPED:,} TaskRuns of {_ARGUMENT / 1000:g} kB of arguments at once, their pods played", begin=mapped
    ),
    "expressions": Attack(
        what=f"rounds of {_EXPRESSIONS} expressions that each take all memory of a CEL child", begin=expressions
    ),
    "archive": Attack(
        what=f"{IDLE} idle TLS connections, {UPLOADS} trickled uploads; a small result put and read",
        begin=connections,
        on_results=True,
    ),
}


@asynccontextmanager
async def _servers() -> AsyncIterator[tuple[Mapping[str, int], Counts]]:
    """The ports of the attacker's servers, and how many connections they have."""
    async with environment.child("-m", "benchmarks.attacks.servers") as process:
        ports = json.loads(await _given(process.stdout).readline())
        async with _counted(process) as counts:
            yield ports, counts


def _large(ports: Mapping[str, int], number: int) -> Object:
    kinds: list[tuple[str, Object]] = [
        ("http", {"url": f"http://{HOST}:{ports['http']}/{number}", "body_condition": "response.json.x == 1"}),
        (
            "object",
            {
                "url": f"s3://drops/{number}/",
                "options": {"endpoint": f"http://{HOST}:{ports['s3']}", "anonymous": True},
            },
        ),
        ("redis", {"url": f"redis://{HOST}:{ports['redis']}/0", "list": f"x{number}"}),
        ("sql", {"url": f"postgresql://joe@{HOST}:{ports['postgres']}/x", "query": f"SELECT {number}"}),
    ]
    name, kwargs = kinds[number % len(kinds)]
    trigger = {"class": name, "kwargs": {**kwargs, "interval": "1s"}, "timeout": "3s"}
    return {"name": f"t{number}", "trigger": trigger}


def _mapped_http(name: str, hosts: Sequence[str]) -> Object:
    kwargs = {"url": "http://${mapping.value}/${mapping.index}", "timeout": "60s"}
    return {
        "name": name,
        "trigger": {"class": "http", "kwargs": kwargs, "timeout": "10m"},
        "expand": [{"name": "n", "over": list(hosts)}],
    }


def _python(name: str, constant: str, count: int) -> Object:
    expand = [{"name": "n", "over": list(range(count))}]
    return {"name": name, "python": "bench:step", "args": {"constant": constant}, "expand": expand}


async def _create(on: AttackEnvironment, name: str, spec: Mapping[str, Any]) -> None:
    await on.api.create(WORKFLOWS, ATTACKER, workflow(name, spec, ATTACKER))


@asynccontextmanager
async def _rounds(on: AttackEnvironment, spec: Mapping[str, Any], *, warm: bool = False) -> AsyncIterator[list[str]]:
    """A Workflow of this spec, and another whenever it has ended, as long as this is open.

    `warm`: it is under way with the second, since during the first the triggerer imports what these waits take.
    """
    notes: list[str] = []
    names: list[str] = []
    going = asyncio.create_task(_repeat(on, spec, names))
    try:
        await until(lambda: len(names) > int(warm), _LIMIT, every=_LOOK)
        yield notes
    finally:
        going.cancel()
        (outcome,) = await asyncio.gather(going, return_exceptions=True)
    notes.append(f"refused: {outcome}" if isinstance(outcome, errors.ApiError) else f"{len(names)} rounds")
    notes += await _became(on)


async def _repeat(on: AttackEnvironment, spec: Mapping[str, Any], names: list[str]) -> None:
    end = time.monotonic() + SECONDS
    for number in range(_ROUNDS):
        await _create(on, f"round-{number}", spec)
        names.append(f"round-{number}")
        await _end(on, names[-1], end - time.monotonic())
        if time.monotonic() > end:
            return
        await asyncio.sleep(_LOOK)


async def _deferred(on: AttackEnvironment, count: int) -> None:
    selector = "status.state=Deferred"

    async def enough() -> bool:
        return len((await on.api.list(TASKRUNS, ATTACKER, field_selector=selector)).items) >= count

    await until(enough, _LIMIT, every=_LOOK)


async def _end(on: AttackEnvironment, name: str, seconds: float) -> bool:
    """Whether the Workflow ends in time."""

    async def has_ended() -> bool:
        return "completionTime" in (await on.api.get(WORKFLOWS, ATTACKER, name)).get("status", {})

    try:
        await until(has_ended, seconds, every=_LOOK)
    except TimeoutError:
        return False
    return True


async def _became(on: AttackEnvironment) -> list[str]:
    """What the attacker's Workflows and TaskRuns say of themselves."""
    lines: list[str] = []
    for resource in (WORKFLOWS, TASKRUNS):
        counts = Counter(_state(body.get("status", {})) for body in (await on.api.list(resource, ATTACKER)).items)
        listed = ", ".join(f"{count:,} {word}" for word, count in counts.most_common())
        lines.append(f"{resource.plural}: {listed or 'none'}")
    return lines


def _state(status: Mapping[str, Any]) -> str:
    state, reason = status.get("state", "new"), status.get("reason")
    return f"{state} ({reason})" if reason else state


@asynccontextmanager
async def _counted(process: asyncio.subprocess.Process) -> AsyncIterator[Counts]:
    """What a child counts, as it prints it."""
    counts: Counts = []

    async def read() -> None:
        while line := await _given(process.stdout).readline():
            counts.append(json.loads(line))

    async with background(read()):
        yield counts


def _given(pipe: Any) -> Any:
    """The pipe, which was asked for."""
    assert pipe is not None
    return pipe
