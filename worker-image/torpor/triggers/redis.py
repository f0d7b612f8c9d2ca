"""Polls Redis for an element of a list or an entry of a stream, without consuming it.

It does not pop from a list or acknowledge in a stream: two triggerers may poll at a time, and an event that is never
stored must not be lost. The task that resumes consumes it.
"""

import re
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from torpor.triggers import cursors, events
from torpor.triggers.base import BaseTrigger
from torpor.triggers.cursors import UNSET, Cursor
from torpor.triggers.events import TriggerEvent
from torpor.triggers.services import Services
from torpor.triggers.support import arguments, polling, redis_pool
from torpor.triggers.support.arguments import Reference, Revealed
from torpor.triggers.support.metering import AddressDeniedError, AnswerTooLargeError

if TYPE_CHECKING:
    from redis.asyncio import Redis as Client

START = "0"
_ID = re.compile(r"[0-9]{1,20}(-[0-9]{1,20})?")
_INDEX_MAX = 1_000_000


class Redis(BaseTrigger):
    """Fires when a list has enough elements, or a stream has a new entry.

    The event of a list is `{list, length, value}`, that of a stream `{stream, id, fields}`.

        Redis("redis://queue.example.org/0", list="jobs", count=10)

    Args:
        url: A redis or rediss URL; a SecretRef if it contains a password.
        list: The key of a list. Give `list` or `stream`.
        count: The minimum length of the list.
        index: The element of the list that the event contains: 0 is the first, -1 the last.
        stream: The key of a stream.
        after: The id of an entry of the stream; the event is the first entry after it.
        interval: Time between two polls: a timedelta, seconds, or text such as `30s`.
        cursor: The id of the last entry of the stream; the event is the first entry after it. It replaces `after`, and
            null is no position. A list has no position: it fires as long as it has enough elements.
    """

    requires = ("redis",)
    extra = "torpor[redis]"

    def __init__(  # noqa: PLR0913 - the arguments of a list and of a stream, each with a default
        self,
        url: str | Reference,
        *,
        list: str | None = None,  # noqa: A002 - Redis' own term
        count: int = 1,
        index: int = 0,
        stream: str | None = None,
        after: str = START,
        interval: timedelta | float | str = polling.INTERVAL,
        cursor: Cursor = UNSET,
    ) -> None:
        self.url = arguments.url_of_server(url, redis_pool.parse_redis_url)
        self.list = None if list is None else arguments.text(list, "list")
        self.count = arguments.count(count, "count")
        self.index = arguments.count(index, "index", least=-_INDEX_MAX)
        self.stream = None if stream is None else arguments.text(stream, "stream")
        self.after = _id(after, "after")
        self.cursor = _id(cursor, "cursor") if isinstance(cursor, str) else cursors.cursor(cursor)
        self.interval = arguments.seconds(interval, "interval", least=polling.INTERVAL_MIN)
        if (self.list is None) == (self.stream is None):
            raise ValueError("give either list or stream, the key to poll")
        if self.stream is not None and (self.count, self.index) != (1, 0):
            raise ValueError("count and index need a list; use after with a stream")
        if self.list is not None and self.after != START:
            raise ValueError("after needs a stream; use count and index with a list")
        if self.list is not None and isinstance(self.cursor, str):
            raise ValueError("cursor needs a stream; a list has no position")

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the arguments that differ from their defaults."""
        return "redis", arguments.differing(self, Redis.__init__) | cursors.stored(self.cursor)

    def bind(self, services: Services) -> None:
        """Parse the URL."""
        super().bind(services)
        self._address = redis_pool.parse_redis_url(self.url)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll until the event is there."""
        await self.services.in_thread(redis_pool.load)
        key = ("redis", self.services.namespace, self._address)
        connect = lambda: redis_pool.connect(self._address, self.services)  # noqa: E731
        payload = None
        while payload is None:
            try:
                async with self.services.shared(key, connect, redis_pool.close) as client:
                    payload = await polling.poll(self.services, partial(self._look, client), self.interval)
            except polling.BusyError as error:
                self.last_look = str(error)
                await self.services.sleep(error.retry_after)
        yield TriggerEvent(payload)

    async def _look(self, client: "Client") -> dict[str, Any] | None:
        where = "Redis" if isinstance(self.url, Revealed) else f"Redis at {self._address}"
        try:
            async with self.services.answering():
                return await (self._element(client) if self.list is not None else self._entry(client))
        except AnswerTooLargeError as error:
            raise AnswerTooLargeError(f"{where}: {error}") from error
        except AddressDeniedError as error:
            raise AddressDeniedError(f"{where}: {self._shown(error)}") from error
        except PermissionError as error:
            raise PermissionError(f"{where}: {error}") from error
        except OSError as error:
            self.last_look = f"{where} does not answer: {self._shown(error)}"
            return None

    async def _element(self, client: "Client") -> dict[str, Any] | None:
        name = str(self.list)
        length, value = await redis_pool.element(client, name, self.index, self.services.answer_bytes)
        self.last_look = f"list {name} has {length} of {self.count} elements"
        if length < self.count or value is None:
            return None
        return events.fit_text({"list": name, "length": length}, "value", value)

    async def _entry(self, client: "Client") -> dict[str, Any] | None:
        name = str(self.stream)
        after = self.cursor if isinstance(self.cursor, str) else self.after
        entry = await redis_pool.entry(client, name, after, self.services.answer_bytes)
        self.last_look = f"stream {name} has {'no' if entry is None else 'an'} entry after {after}"
        if entry is None:
            return None
        event = cursors.with_cursor({"stream": name, "id": entry.id}, self.cursor, entry.id)
        return events.fit_fields(event, "fields", entry.fields)

    def _shown(self, error: OSError) -> str:
        """Return the text of an error without values from a Secret, the host included."""
        words = str(error)
        return words.replace(self._address.host, "***") if isinstance(self.url, Revealed) else words


def _id(after: object, name: str) -> str:
    if not isinstance(after, str):
        raise TypeError(f"{name} must be the id of an entry as text, not {type(after).__name__}")
    if not _ID.fullmatch(after):
        raise ValueError(
            f"{name} is {after[:50]!r}; it must be an id such as 1700000000000-0, or 0 for all entries; "
            "'$' would mean another moment each time that the wait moves to another triggerer"
        )
    return after
