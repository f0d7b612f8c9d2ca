"""`python -m benchmarks.airflow`: the same waits in Airflow's triggerer and in a pool of Torpor, in one sitting.

Waits for a moment, and waits that poll an HTTP server. Airflow has a database of its own in SQLite, Torpor a control
plane of its own. Measured are memory (PSS, with child processes) and CPU time while nothing fires, which do not depend
on the load of the machine. Neither database nor API server is counted. Prints a Markdown table and writes JSON.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import aiohttp
from aiohttp import web

from benchmarks.airflow import airflow_triggerer
from benchmarks.harness import processes, program, usage
from benchmarks.harness.control_plane import open_plane
from benchmarks.harness.figures import Figure
from benchmarks.harness.processes import ChildProcess
from benchmarks.harness.waiting import until
from benchmarks.triggerer import waits
from benchmarks.triggerer.replicas import TriggererReplica
from benchmarks.triggerer.waits import BenchWaits, WaitSpec

_MOMENT = "2100-01-01T00:00:00+00:00"
_TIMER = "airflow.providers.standard.triggers.temporal.DateTimeTrigger"
_SENSOR = "airflow.providers.http.triggers.http.HttpSensorTrigger"
_RULE = "airflow.providers.**=torpor_airflow.triggers.catalog:load_classes"
_LIMIT = 600.0
_CALM = 5.0
_MIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowSizes:
    """Waits, seconds between two polls, and seconds of a measurement."""

    waits: int = 1_000
    many: int = 10_000
    poll: float = 10.0
    idle: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingUsage:
    """MiB, CPU seconds of the measured time, and requests that arrived in it."""

    memory: float
    cpu: float
    polls: int = 0


@dataclass(slots=True, kw_only=True)
class MissingSite:
    """An HTTP server that has nothing, and counts who asks."""

    port: int = 0
    requests: int = 0

    async def answer(self, _: web.Request) -> web.Response:
        """Say so."""
        self.requests += 1
        return web.Response(status=404)


def main() -> int:
    """Measure, print and write. Returns 1 if it could not be measured."""
    parser = program.parser(__doc__, "airflow-triggerer", AirflowSizes)
    parser.add_argument("--logs", type=Path, help="folder for the logs")
    given = parser.parse_args()
    sizes = program.chosen_sizes(given, AirflowSizes)
    figures = program.attempt_alone("airflow", _measure(sizes, given.logs), program.shown_figures)
    if figures is None:
        return 1
    program.report(given, "airflow-triggerer", figures, sizes=asdict(sizes))
    return 0


async def _measure(sizes: AirflowSizes, logs: Path | None) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="torpor-bench-airflow-") as name:
        folders = {kind: Path(name, kind) for kind in ("timers", "polls")}
        for folder in folders.values():
            folder.mkdir()
        async with _site() as site:
            airflow = await _in_airflow(sizes, folders, site)
            torpor = await _in_torpor(sizes, logs, site)
    return [
        *_compared("timers", f"{sizes.waits:,} DateTimeTrigger", airflow["timers"], torpor["timers"], sizes),
        *_compared("polls", f"{sizes.waits:,} HttpSensorTrigger", airflow["polls"], torpor["polls"], sizes),
        Figure(name="memory_none", what="a triggerer of Torpor with no wait", value=torpor["none"].memory, unit="MiB"),
        Figure(
            name=f"memory_timers_{sizes.many}",
            what=f"{sizes.many:,} DateTimeTrigger: memory of Torpor's triggerer",
            value=torpor["many"].memory,
            unit="MiB",
        ),
    ]


@asynccontextmanager
async def _site() -> AsyncIterator[MissingSite]:
    site = MissingSite()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", site.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        await runner.cleanup()


async def _in_airflow(sizes: AirflowSizes, folders: Mapping[str, Path], site: MissingSite) -> dict[str, WaitingUsage]:
    found = {}
    async with airflow_triggerer.started(folders["timers"], _TIMER, {"moment": _MOMENT}, sizes.waits) as process:
        await process.until_or_end(lambda: _says(process, f"{sizes.waits} triggers currently running"))
        found["timers"] = await _used(process, sizes, site)
    connection = {"AIRFLOW_CONN_HTTP_DEFAULT": f"http://127.0.0.1:{site.port}/"}
    kwargs = {"endpoint": "ready", "poke_interval": sizes.poll}
    async with airflow_triggerer.started(folders["polls"], _SENSOR, kwargs, sizes.waits, **connection) as process:
        await _polled(site, sizes)
        found["polls"] = await _used(process, sizes, site)
    return found


async def _says(process: ChildProcess, text: str) -> bool:
    return text in process.text()


async def _polled(site: MissingSite, sizes: AirflowSizes) -> None:
    """Return once each wait has polled."""
    before = site.requests
    await until(lambda: site.requests >= before + sizes.waits, _LIMIT)


async def _in_torpor(sizes: AirflowSizes, logs: Path | None, site: MissingSite) -> dict[str, WaitingUsage]:
    found = {}
    async with open_plane(nodes=0, logs=logs) as plane:
        bench = await waits.opened(plane)
        child = processes.triggerer(plane, "--capacity", str(2 * sizes.many), "--trigger", _RULE)
        child.program = (str(airflow_triggerer.PYTHON), "-m", *child.words)
        async with processes.running(child), aiohttp.ClientSession() as session:
            replica = TriggererReplica(child, session)
            await child.ready()
            await asyncio.sleep(_CALM)
            found["none"] = WaitingUsage(memory=usage.read_usage(child.pid).pss / _MIB, cpu=0.0)
            found["timers"] = await _waiting(bench, replica, _timers(sizes.waits), sizes, site)
            found["many"] = await _waiting(bench, replica, _timers(sizes.many - sizes.waits), sizes, site)
        await bench.clear()
        child = processes.triggerer(plane, "--capacity", str(2 * sizes.many), "--trigger", _RULE, name="polling")
        child.program = (str(airflow_triggerer.PYTHON), "-m", *child.words)
        async with processes.running(child), aiohttp.ClientSession() as session:
            replica = TriggererReplica(child, session)
            await child.ready()
            found["polls"] = await _waiting(bench, replica, _sensors(sizes, site), sizes, site)
    return found


async def _waiting(
    bench: BenchWaits, replica: TriggererReplica, specs: list[WaitSpec], sizes: AirflowSizes, site: MissingSite
) -> WaitingUsage:
    """Add waits, and return what the triggerer uses with all of them."""
    await bench.add(specs, live=True)
    await replica.runs(len(bench.names))
    return await _used(replica.process, sizes, site)


async def _used(process: ChildProcess, sizes: AirflowSizes, site: MissingSite) -> WaitingUsage:
    await asyncio.sleep(sizes.poll + _CALM)  # the first poll of each wait is over
    cpu, requests = usage.tree_cpu(process.pid), site.requests
    await asyncio.sleep(sizes.idle)
    spent, polls = usage.tree_cpu(process.pid) - cpu, site.requests - requests
    return WaitingUsage(memory=usage.read_usage(process.pid).pss / _MIB, cpu=spent, polls=polls)


def _timers(count: int) -> list[WaitSpec]:
    return [
        WaitSpec(class_name=_TIMER, kwargs={"moment": {"__type": "datetime", "__var": _MOMENT}}) for _ in range(count)
    ]


def _sensors(sizes: AirflowSizes, site: MissingSite) -> list[WaitSpec]:
    connections = {"http_default": f"http://127.0.0.1:{site.port}/"}
    kwargs = {"endpoint": "ready", "poke_interval": sizes.poll, "airflow": {"connections": connections}}
    return [WaitSpec(class_name=_SENSOR, kwargs=kwargs) for _ in range(sizes.waits)]


def _compared(name: str, what: str, airflow: WaitingUsage, torpor: WaitingUsage, sizes: AirflowSizes) -> list[Figure]:
    figures = [
        _ratio(f"memory_{name}", f"{what}: memory of the triggerer", torpor.memory, airflow.memory, "MiB"),
        _ratio(
            f"cpu_{name}",
            f"{what}: CPU time of a minute",
            torpor.cpu * 60 / sizes.idle,
            airflow.cpu * 60 / sizes.idle,
            "s",
        ),
    ]
    if airflow.polls and torpor.polls:
        per_poll = (1000 * torpor.cpu / torpor.polls, 1000 * airflow.cpu / airflow.polls)
        figures.append(_ratio(f"cpu_{name}_each", f"{what}: CPU time of a poll", *per_poll, "ms"))
    return figures


def _ratio(name: str, what: str, torpor: float, airflow: float, unit: str) -> Figure:
    factor = f", {airflow / torpor:.1f} times" if torpor else ""
    return Figure(name=name, what=what, value=torpor, unit=unit, aside=f"Airflow {airflow:.3g} {unit}{factor}")


if __name__ == "__main__":
    sys.exit(main())
