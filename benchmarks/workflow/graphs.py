"""The workflows of the bench: a fan-out, a chain, and many workflows with one step."""

import asyncio
from dataclasses import replace

from benchmarks.workflow import plane, processes, runs, small_runs
from benchmarks.workflow.measurement import Measurement
from benchmarks.workflow.plane import NAMESPACE
from benchmarks.workflow.processes import Interval, Processes
from benchmarks.workflow.runs import Object, Runs, step

_KEY = "/registry/torpor.dev/workflows"
_SETTLE = 2.0
_QUIET = 10
_ROW = 100


async def fan_out(count: int) -> Measurement:
    """A mapped task with `count` instances."""
    async with plane.plane() as at, processes.start(at) as hands, runs.runs(at) as asked:
        await warm(asked)
        return await _fanned(hands, asked, count)


async def fan_out_beside(count: int) -> Measurement:
    """The same with small runs beside it, and some before."""
    async with plane.plane() as at, processes.start(at) as hands, runs.runs(at) as asked:
        await warm(asked)
        quiet = await small_runs.alone(asked, _QUIET)
        async with small_runs.beside(asked) as small:
            taken = await _fanned(hands, asked, count)
        times = {"alone": quiet, "beside": small}
        return replace(
            taken,
            to_pods={name: one.to_pods() for name, one in times.items()},
            to_ends={name: one.to_ends() for name, one in times.items()},
        )


async def _fanned(hands: Processes, asked: Runs, count: int) -> Measurement:
    before, interval = hands.memory(), Interval.begin(hands)
    await asked.start("fan", [mapped(count)], parallelism=count, maxMapSize=count)
    over = await asked.end("fan")
    cpu = interval.cpu()
    sizes = await _sizes(hands, before, count)
    return Measurement(name=f"fan-out of {count}", tasks=count, wall=over - interval.began, cpu=cpu, sizes=sizes)


async def chain(length: int) -> Measurement:
    """A chain of steps."""
    tasks = [step(f"s{number}", after=[f"s{number - 1}"] if number else []) for number in range(length)]
    return await _several(f"chain of {length}", [tasks])


async def many(count: int) -> Measurement:
    """`count` Workflows with one step, created at once."""
    return await _several(f"{count} workflows", [[step("only")]] * count)


async def _several(name: str, graphs: list[list[Object]]) -> Measurement:
    async with plane.plane() as at, processes.start(at) as hands, runs.runs(at) as asked:
        await warm(asked)
        interval = Interval.begin(hands)
        names = [f"run-{number}" for number in range(len(graphs))]
        await asyncio.gather(*(asked.start(one, tasks) for one, tasks in zip(names, graphs, strict=True)))
        over = await asked.end(*names)
        tasks = sum(map(len, graphs))
        return Measurement(name=name, tasks=tasks, wall=over - interval.began, cpu=interval.cpu())


async def warm(asked: Runs) -> None:
    """The first run pays for connections, and for what the API server compiles."""
    await asked.start("warm", [step("only", expand=[{"name": "n", "over": list(range(8))}])])
    await asked.end("warm")
    await asyncio.sleep(_SETTLE)


def mapped(count: int) -> Object:
    """A literal list, or what two of them make of each other: a list of ten thousand has no place in a Workflow."""
    rows = count // _ROW
    over = {"row": list(range(rows)), "n": list(range(_ROW))} if rows * _ROW == count else {"n": list(range(count))}
    return step("each", expand=[{"name": name, "over": values} for name, values in over.items()])


async def _sizes(hands: Processes, before: float, count: int) -> dict[str, float]:
    stored = len(await hands.plane.etcd.read(f"{_KEY}/{NAMESPACE}/fan"))
    return {"workflow": stored, "memory": (hands.memory() - before) / count}
