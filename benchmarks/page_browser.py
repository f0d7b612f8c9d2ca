"""`make bench-ui-browser`: what a person waits for in a real browser, and how fluent 10,000 instances scroll.

A made-up cluster and the page's server run in processes of their own, Chromium without a window in others. Each opening
is that of a new window with an empty cache. The clock starts with the navigation. A long task blocks the page for more
than 50 ms; the goals allow none while somebody scrolls.
"""

import gzip
import json
import statistics
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.async_api import Browser, BrowserContext, CDPSession, Page
from torpor_ui.http.security import CSRF_HEADER

from benchmarks import page as page_server
from benchmarks.harness import program
from benchmarks.harness.figures import Figure
from benchmarks.page import PageSizes
from tests.support.browser import program as chromium
from tests.support.browser.observer import Observer
from tests.support.browser.window import BrowserScreen
from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[1]
STATIC = ROOT / "ui/torpor_ui/static"
BIG = "run/live/data/big-load"
_LIMIT_MS = 180_000
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
_SINCE_START = "performance.now()"
_SCROLL = """async ([selector, seconds]) => {
  const element = document.querySelector(selector);
  const frames = [];
  const end = performance.now() + 1000 * seconds;
  let down = 1;
  await new Promise((done) => requestAnimationFrame(function step(now) {
    frames.push(now);
    if (element.scrollTop + element.clientHeight >= element.scrollHeight - 2) down = -1;
    if (element.scrollTop <= 0) down = 1;
    element.scrollTop += 60 * down;
    if (now < end) requestAnimationFrame(step); else done();
  }));
  const gaps = frames.slice(1).map((at, index) => at - frames[index]);
  return {rate: 1000 * gaps.length / (frames.at(-1) - frames[0]), longest: Math.max(...gaps)};
}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserSizes:
    """How much is measured. `rounds`: openings of each view, of which the median counts."""

    runs: int = 10_000
    instances: int = 10_000
    small: int = 40
    rounds: int = 5
    seconds: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A window whose view is drawn. Milliseconds: from the navigation, and of CPU time of page and server."""

    page: Page
    observer: Observer
    paint: float
    ready: float
    cpu: float
    served: float
    counting: CDPSession


async def _busy(counting: CDPSession) -> float:
    """Milliseconds of CPU time that the main thread of a page has used."""
    metrics = (await counting.send("Performance.getMetrics"))["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")) * 1000


class Viewer:
    """A person with a browser that has logged in."""

    def __init__(self, browser: Browser, url: str, server: int) -> None:
        self.browser, self.url, self.server = browser, url, server

    async def context(self, stack: AsyncExitStack) -> BrowserContext:
        context = await stack.enter_async_context(BrowserScreen().context(self.browser))
        session = await (await context.request.get(f"{self.url}/api/session")).json()
        headers = {"Origin": self.url, CSRF_HEADER: session["csrf"]}
        answer = await context.request.post(f"{self.url}/api/session", data={"token": "admin-token"}, headers=headers)
        assert answer.ok, await answer.text()
        return context

    async def open(self, stack: AsyncExitStack, path: str, drawn: str) -> "Opening":
        """Open a view in a new window, until an element is drawn."""
        opened = await (await self.context(stack)).new_page()
        counting = await opened.context.new_cdp_session(opened)
        await counting.send("Performance.enable", {"timeDomain": "threadTicks"})
        observer = Observer(page=opened, origin=self.url)
        await observer.start()
        before = page_server._cpu(self.server)
        await opened.goto(f"{self.url}/{path}", wait_until="commit")
        await opened.wait_for_selector(drawn, timeout=_LIMIT_MS)
        ready = float(await opened.evaluate(_SINCE_START))
        cpu = await _busy(counting)
        served = (page_server._cpu(self.server) - before) * 1000
        paint = float(await opened.evaluate(_PAINT) or ready)
        return Opening(
            page=opened, observer=observer, paint=paint, ready=ready, cpu=cpu, served=served, counting=counting
        )


async def measure(sizes: BrowserSizes) -> list[Figure]:
    figures = _bundle()
    for instances, name in ((sizes.small, "small"), (sizes.instances, "big")):
        async with AsyncExitStack() as stack:
            viewer = await _served(stack, sizes, instances)
            figures += await (_openings if name == "small" else _large)(viewer, sizes)
    return figures


async def _served(stack: AsyncExitStack, sizes: BrowserSizes, instances: int) -> Viewer:
    folder = Path(stack.enter_context(TemporaryDirectory()))
    made = PageSizes(runs=sizes.runs, instances=instances, taskruns=100, identities=0, changes=2)
    cluster = await stack.enter_async_context(page_server.process(*page_server._cluster(made, folder)))
    api = (await page_server._line(cluster)).split()[0]
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    options = ("--mode", "token", "--url", url, "--port", str(port), "--health-port", str(free_port()))
    server = await stack.enter_async_context(page_server.process("torpor_ui", *options, "--api-url", api))
    await page_server._until_up(url)
    browser = await stack.enter_async_context(chromium.started(chromium.find()))
    return Viewer(browser, url, server.pid)


async def _openings(viewer: Viewer, sizes: BrowserSizes) -> list[Figure]:
    timelines = await _repeat(viewer, sizes, f"{BIG}/timeline", ".run-view canvas")
    lists = await _repeat(viewer, sizes, "runs", ".tbody .tr")
    return [
        _median("paint", "first paint", [each.paint for each in timelines], "0.5 s"),
        *_drawn("timeline", f"timeline of {sizes.small} instances", timelines, "1 s"),
        *_drawn("runs", f"list of {sizes.runs} runs", lists, "1 s"),
    ]


async def _repeat(viewer: Viewer, sizes: BrowserSizes, path: str, drawn: str) -> list[Opening]:
    openings = []
    for _ in range(sizes.rounds):
        async with AsyncExitStack() as stack:
            openings.append(await viewer.open(stack, path, drawn))
    return openings


async def _large(viewer: Viewer, sizes: BrowserSizes) -> list[Figure]:
    async with AsyncExitStack() as stack:
        first = await viewer.open(stack, f"{BIG}/timeline", ".run-view canvas")
    what = f"timeline of {sizes.instances} instances, the first viewer of a server"
    figures = [
        Figure(name="cold", what=what, value=first.ready / 1000, unit="s"),
        Figure(name="cold-server", what=f"{what}, CPU of the server", value=first.served / 1000, unit="s"),
    ]
    views = (("timeline", ".run-view canvas", ".timeline-scroll"), ("grid", ".tbody .tr", ".grid-view .table"))
    for view, drawn, scroller in views:
        openings = await _repeat(viewer, sizes, f"{BIG}/{view}", drawn)
        figures += _drawn(f"{view}-big", f"{view} of {sizes.instances} instances", openings, "2 s")
        async with AsyncExitStack() as stack:
            opening = await viewer.open(stack, f"{BIG}/{view}", drawn)
            page, observer = opening.page, opening.observer
            if view == "timeline":
                await page.get_by_role("button", name="Unfold all").click()
            await page.wait_for_timeout(2000)
            await observer.long_tasks()
            before = await _busy(opening.counting)
            scrolled: dict[str, Any] = await page.evaluate(_SCROLL, [scroller, sizes.seconds])
            long = await observer.long_tasks()
            each = (await _busy(opening.counting) - before) / (scrolled["rate"] * sizes.seconds)
            rate, longest = scrolled["rate"], max(long, default=0.0)
            figures += [
                Figure(name=f"{view}-scroll", what=f"{view} scrolled", value=rate, unit="frames/s", goal="50"),
                Figure(name=f"{view}-frame", what=f"{view}, CPU of the page for a frame", value=each, unit="ms"),
                Figure(name=f"{view}-long", what=f"{view}, longest task", value=longest, unit="ms", goal="50 ms"),
            ]
    return figures


def _drawn(name: str, what: str, openings: list[Opening], goal: str) -> list[Figure]:
    return [
        _median(name, f"{what} drawn", [each.ready for each in openings], goal),
        _median(f"{name}-cpu", f"{what}, CPU of the page", [each.cpu for each in openings], ""),
        _median(f"{name}-server", f"{what}, CPU of the server", [each.served for each in openings], ""),
    ]


def _bundle() -> list[Figure]:
    """What the first load of the page has, as the build counts it."""
    index = (STATIC / "index.html").read_text()
    files = [file for file in (STATIC / "assets").iterdir() if file.name in index]
    first = sum(len(gzip.compress(file.read_bytes(), 9)) for file in files)
    whole = sum(len(gzip.compress(file.read_bytes(), 9)) for file in (STATIC / "assets").iterdir())
    return [
        Figure(name="first-load", what="first load, gzipped", value=first / 1000, unit="kB", goal="150 kB"),
        Figure(name="bundle", what="all views, gzipped", value=whole / 1000, unit="kB"),
    ]


def _median(name: str, what: str, milliseconds: list[float], goal: str) -> Figure:
    return Figure(name=name, what=what, value=statistics.median(milliseconds) / 1000, unit="s", goal=goal)


def main() -> int:
    parser = program.parser(__doc__, "page-browser", BrowserSizes)
    given = parser.parse_args()
    sizes = program.chosen_sizes(given, BrowserSizes)
    figures = program.attempt_alone("page-browser", measure(sizes), program.shown_figures)
    if figures is None:
        return 1
    shown = json.dumps({name: getattr(sizes, name) for name in sizes.__slots__})
    program.report(given, "page-browser", figures, sizes=shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
