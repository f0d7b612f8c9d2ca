"""`python -m benchmarks.workflow.observed`: CPU of the operator for a fan-out, unobserved and observed, in turns.

Observed: a client reads the metrics as Prometheus does, and spans of all tasks go to a server. The operator counts for
its metrics in both cases.
"""

import asyncio
import statistics
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import aiohttp
from aiohttp import web

from benchmarks.harness import program
from benchmarks.harness.figures import Figure
from benchmarks.harness.metering import TaskCosts
from benchmarks.harness.processes import OPERATOR
from benchmarks.workflow import loads, rows, scenarios
from tests.support.ports import free_port

_INTERVAL = 5.0
"""Seconds between two reads of the metrics. Prometheus reads every 15 to 60 seconds."""
_REST = 15.0
"""Seconds after the last task, in which the last spans are sent."""


def main() -> int:
    """Measure, print and write. Returns 1 if a round failed, or nothing was observed."""
    parser = program.parser(__doc__)
    parser.add_argument("--tasks", type=int, default=300, help="tasks of the fan-out")
    parser.add_argument("--rounds", type=int, default=3, help="pairs of measurements")
    given = parser.parse_args()
    plain, observed = list[float](), list[float]()
    for number in range(given.rounds):
        for observing, costs in ((False, plain), (True, observed)):
            name = f"round {number + 1}, {'observed' if observing else 'unobserved'}"
            taken = program.attempt_alone(name, _measure(given.tasks, observing=observing), rows.shown)
            costs.extend([taken.each(OPERATOR)] if taken else [])
    if len(plain) + len(observed) < 2 * given.rounds:
        return 1
    program.report(given, "metrics", _figures(plain, observed), unobserved=plain, observed=observed)
    return 0


async def _measure(tasks: int, *, observing: bool) -> TaskCosts:
    load = loads.fan_out(tasks)
    if not observing:
        return await scenarios.measure(load, rest=_REST)
    port = free_port()
    async with _span_server() as (received, url), _reading(port) as reads:
        taken = await scenarios.measure(load, "--metrics-port", str(port), "--otlp-endpoint", url, rest=_REST)
        if not reads or not received:
            raise SystemExit(f"{len(reads)} reads of metrics and {len(received)} requests with spans: not observed")
    return taken


@asynccontextmanager
async def _span_server() -> AsyncIterator[tuple[list[int], str]]:
    """Accept spans, as a collector does. The values are the sizes of the requests, and its URL."""
    sizes: list[int] = []

    async def take(request: web.Request) -> web.Response:
        sizes.append(len(await request.read()))
        return web.Response(content_type="application/x-protobuf")

    application = web.Application()
    application.add_routes([web.post("/v1/traces", take)])
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield sizes, f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _reading(port: int) -> AsyncIterator[list[int]]:
    """Read the metrics again and again. The value has the size of each response."""
    sizes: list[int] = []

    async def read() -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                with suppress(aiohttp.ClientError):  # the operator has not started yet
                    async with session.get(f"http://127.0.0.1:{port}/metrics") as response:
                        sizes.append(len(await response.read()))
                await asyncio.sleep(_INTERVAL)

    reading = asyncio.create_task(read())
    try:
        yield sizes
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


def _figures(plain: list[float], observed: list[float]) -> list[Figure]:
    unit, ratios = "ms of CPU a task", [each / before for before, each in zip(plain, observed, strict=True)]
    return [
        Figure(name="unobserved", what="operator, unobserved", value=statistics.median(plain), unit=unit),
        Figure(
            name="observed", what="operator, metrics read and spans sent", value=statistics.median(observed), unit=unit
        ),
        Figure(name="ratio", what="median of the ratios", value=statistics.median(ratios), unit="times", goal="1.1"),
    ]


if __name__ == "__main__":
    sys.exit(main())
