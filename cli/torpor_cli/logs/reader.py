"""Reads logs from the API server and from the archive.

A log that cannot be read is reported, and does not end the others.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from torpor_client.logs import log_text
from torpor_client.logs.pods import CONTAINER
from torpor_client.logs.source import LogLine, LogSource, Nanoseconds

from torpor_cli.cluster.api import ApiClient
from torpor_cli.cluster.archive import ArchiveProxy
from torpor_cli.cluster.errors import ClusterError, NotFoundError
from torpor_cli.cluster.resources import PODS
from torpor_cli.errors import CliError

Report: TypeAlias = Callable[[LogSource, str], None]
"""Receives a log that cannot be read completely, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The lines of each log to read: of one container, those since a time, and at most the last `tail`."""

    since: Nanoseconds = 0
    tail: int | None = None
    container: str = CONTAINER


class LogReader:
    """Opens logs of a namespace. Threads may share it."""

    def __init__(self, api: ApiClient, archive: ArchiveProxy, namespace: str, window: Window, report: Report) -> None:
        self._api = api
        self._archive = archive
        self._namespace = namespace
        self._window = window
        self._report = report

    def read(self, source: LogSource) -> Generator[LogLine, None, None]:
        """Yield the lines that a log has now."""
        if source.archived:
            lines = self._last(self._since(self._archived(source)))
        else:
            lines = self._since(self._pod(source, since=self._window.since, tail=self._window.tail))
        yield from self._reported(source, lines)

    def follow(self, source: LogSource, since: Nanoseconds) -> Iterator[LogLine]:
        """Yield the lines of a pod from about `since` on, and wait for more until the container ends.

        Raises ClusterError if the connection is lost.
        """
        return self._since(self._pod(source, since=max(since, self._window.since), tail=None, follow=True))

    def _pod(
        self, source: LogSource, *, since: Nanoseconds, tail: int | None, follow: bool = False
    ) -> Generator[LogLine, None, None]:
        query = {"container": source.container or self._window.container, "timestamps": "true"}
        if follow:
            query["follow"] = "true"
        if since:
            query["sinceTime"] = log_text.written(since)
        if tail is not None:
            query["tailLines"] = str(tail)
        chunks = self._api.http.stream(PODS.path(self._namespace, source.pod, "log"), query=query)
        yield from log_text.lines_of(source, _checked(log_text.split(chunks)))

    def _archived(self, source: LogSource) -> Generator[LogLine, None, None]:
        chunks = (line + b"\n" for line in self._archive.log_lines(self._namespace, source.id))
        yield from log_text.lines_of(source, log_text.split(chunks))

    def _since(self, lines: Iterable[LogLine]) -> Iterator[LogLine]:
        return (line for line in lines if line.at >= self._window.since)

    def _last(self, lines: Iterator[LogLine]) -> Iterator[LogLine]:
        return lines if self._window.tail is None else iter(deque(lines, maxlen=self._window.tail))

    def _reported(self, source: LogSource, lines: Iterator[LogLine]) -> Iterator[LogLine]:
        try:
            yield from lines
        except NotFoundError:
            self._report(source, "it was deleted while it was read; run the command again to read it from the archive")
        except CliError as error:
            self._report(source, f"it cannot be read completely: {error}")


def _checked(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines. Raises CliError for the sentence without a time by which a node answers if it has no log."""
    first = next(lines, None)
    if first is None:
        return
    if log_text.parse_line(first)[0] is None:
        raise CliError(f"the node has no log: {first}")
    yield first
    yield from lines


def container_runs(api: ApiClient, namespace: str, source: LogSource) -> bool:
    """Whether the container of a pod still runs. An unclear answer counts as running."""
    try:
        pod = api.get(PODS, namespace, source.pod)
    except NotFoundError:
        return False
    except ClusterError:
        return True
    phase = (pod.get("status") or {}).get("phase")
    return phase not in {"Succeeded", "Failed"}
