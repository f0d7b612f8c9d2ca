"""Collects what a page logs, requests and blocks. Must not decide what a test accepts."""

from dataclasses import dataclass, field

from playwright.async_api import ConsoleMessage, Page, Request

_OBSERVE = """
window.longTasks = [];
window.keepLongTasks = (entries) => { for (const entry of entries) window.longTasks.push(entry.duration); };
window.longTaskObserver = new PerformanceObserver((list) => window.keepLongTasks(list.getEntries()));
window.longTaskObserver.observe({type: "longtask", buffered: true});
"""
_TAKE = """async () => {
  // The browser reports a task some time after its end.
  await new Promise((done) => setTimeout(done, 200));
  window.keepLongTasks(window.longTaskObserver.takeRecords());
  return window.longTasks.splice(0);
}"""
_IGNORED = ("Failed to load resource",)
"""The browser logs each error response of the server as such; a test that wants none compares `failed`."""


@dataclass(kw_only=True)  # playwright sets attributes on whoever listens
class Observer:
    """What happened in a page since it was opened."""

    page: Page
    origin: str
    problems: list[str] = field(default_factory=list)
    """Errors and warnings of the console, and exceptions that nothing caught."""
    failed: list[str] = field(default_factory=list)
    """Requests without an answer, other than those that the page itself ended."""
    foreign: list[str] = field(default_factory=list)
    """Requests to other hosts."""

    async def start(self) -> None:
        """Observe from now on; the page must not be loaded yet."""
        self.page.on("console", self._logged)
        self.page.on("pageerror", lambda error: self.problems.append(f"exception: {error}"))
        self.page.on("request", self._requested)
        self.page.on("requestfailed", self._failed)
        await self.page.add_init_script(_OBSERVE)

    def all_problems(self) -> list[str]:
        """What no view may do: log an error, fail to reach its server, or ask another host."""
        foreign = [f"request to another host: {url}" for url in self.foreign]
        return [*self.problems, *(f"no answer: {request}" for request in self.failed), *foreign]

    def forgive(self) -> None:
        """Forget the problems that a test caused."""
        for problems in (self.problems, self.failed, self.foreign):
            problems.clear()

    async def long_tasks(self) -> list[float]:
        """Durations in milliseconds of the tasks that blocked the page for more than 50 ms, since the last call."""
        durations: list[float] = await self.page.evaluate(_TAKE)
        return durations

    def _logged(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(_IGNORED):
            self.problems.append(f"{message.type}: {message.text}")

    def _requested(self, request: Request) -> None:
        if not request.url.startswith((self.origin, "data:", "blob:")):
            self.foreign.append(request.url)

    def _failed(self, request: Request) -> None:
        if "ERR_ABORTED" not in (request.failure or ""):
            self.failed.append(f"{request.method} {request.url}: {request.failure}")
