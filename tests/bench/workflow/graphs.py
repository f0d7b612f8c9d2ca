"""The workflows of the bench: one that fans out, a chain, and many of one step."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.bench.workflow import crew, plane, runs
from tests.bench.workflow.crew import Crew, Stretch
from tests.bench.workflow.plane import NAMESPACE
from tests.bench.workflow.runs import Object, Runs, step
from tests.bench.workflow.taken import Taken

_KEY = "/registry/torpor.dev/workflows"
_EVERY = 1.0
_SETTLE = 2.0
_SMALL = 400
_QUIET = 10
_ROW = 100


async def fan_out(count: int, *, beside: bool = False) -> Taken:
    """One mapped task of so many instances; `beside`: small runs are started meanwhile, and timed."""
    async with plane.plane() as at, crew.crew(at) as hands, runs.runs(at) as asked:
        await _warm(asked)
        quiet = [await _alone(asked, f"quiet-{number}") for number in range(_QUIET if beside else 0)]
        before, stretch = hands.memory(), Stretch.begin(hands)
        await asked.start("fan", [_mapped(count)], parallelism=count, maxMapSize=count)
        async with _small(asked, wanted=beside) as small:
            over = await asked.end("fan")
        cpu = stretch.cpu()
        await asked.end(*small)
        await asyncio.sleep(_SETTLE)
        return Taken(
            name=f"fan-out of {count}",
            tasks=count,
            wall=over - stretch.began,
            cpu=cpu,
            sizes=await _sizes(hands, before, count),
            latencies=tuple(asked.ended[name] - began for name, began in small.items()),
            quiet=tuple(quiet),
        )


async def chain(length: int) -> Taken:
    """Each step after the one before it."""
    tasks = [step(f"s{number}", after=[f"s{number - 1}"] if number else []) for number in range(length)]
    return await _several(f"chain of {length}", [tasks])


async def many(count: int) -> Taken:
    """So many Workflows of one step, asked for at once."""
    return await _several(f"{count} workflows", [[step("only")]] * count)


async def _several(name: str, graphs: list[list[Object]]) -> Taken:
    async with plane.plane() as at, crew.crew(at) as hands, runs.runs(at) as asked:
        await _warm(asked)
        stretch = Stretch.begin(hands)
        names = [f"run-{number}" for number in range(len(graphs))]
        await asyncio.gather(*(asked.start(one, tasks) for one, tasks in zip(names, graphs, strict=True)))
        over = await asked.end(*names)
        tasks = sum(map(len, graphs))
        return Taken(name=name, tasks=tasks, wall=over - stretch.began, cpu=stretch.cpu())


async def _warm(asked: Runs) -> None:
    """The first run pays for connections, and for what the API server compiles."""
    await asked.start("warm", [step("only", expand=[{"name": "n", "over": list(range(8))}])])
    await asked.end("warm")
    await asyncio.sleep(_SETTLE)


async def _alone(asked: Runs, name: str) -> float:
    """Seconds of a run of one step."""
    began = await asked.start(name, [step("only")])
    return await asked.end(name) - began


def _mapped(count: int) -> Object:
    """A literal list, or what two of them make of each other: a list of ten thousand has no place in a Workflow."""
    rows = count // _ROW
    over = {"row": list(range(rows)), "n": list(range(_ROW))} if rows * _ROW == count else {"n": list(range(count))}
    return step("each", expand=[{"name": name, "over": values} for name, values in over.items()])


async def _sizes(hands: Crew, before: float, count: int) -> dict[str, float]:
    stored = len(await hands.plane.etcd.read(f"{_KEY}/{NAMESPACE}/fan"))
    return {"workflow": stored, "memory": (hands.memory() - before) / count}


@asynccontextmanager
async def _small(asked: Runs, *, wanted: bool) -> AsyncIterator[dict[str, float]]:
    """A run of one step each second, as long as this is open: when each was asked for (monotonic)."""
    began: dict[str, float] = {}

    async def start() -> None:
        for number in range(_SMALL if wanted else 0):
            await asyncio.sleep(_EVERY)
            began[f"small-{number}"] = await asked.start(f"small-{number}", [step("only")])

    starting = asyncio.create_task(start())
    try:
        yield began
    finally:
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
