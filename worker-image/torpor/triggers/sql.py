"""Polls a database until a query finds rows that meet a condition.

One query serves all deferrals that differ only in parameters. No answer means "not yet"; a rejected query or password
fails the deferral. PostgreSQL runs it in a read-only transaction, SQLite opens the file read-only.
"""

from collections.abc import Coroutine, Hashable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from torpor_wire import canonical, constants, trigger

from torpor.triggers import cursors, events
from torpor.triggers.base import BaseTrigger
from torpor.triggers.cursors import UNSET, Cursor
from torpor.triggers.events import TriggerEvent
from torpor.triggers.services import Services
from torpor.triggers.support import arguments, database_url, file_access, polling, sql_batch, sql_engine
from torpor.triggers.support.arguments import Reference, Revealed
from torpor.triggers.support.database_url import PostgresServer, SqliteFile
from torpor.triggers.support.metering import AddressDeniedError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from torpor.triggers.support.sql_batch import Rows

ROOTS = frozenset({"row", "rows"})
INTERVAL = 10.0
TIMEOUT = 10.0
TIMEOUT_MAX = 60.0
_QUERY_MAX = 2048
_JUDGED_MAX = 1024**2


class Sql(BaseTrigger):
    """Fires when a query finds a row, or when a condition on its rows is true. The event is `{count, rows}`.

    With `cursor`, the event has the first row only, and `cursor`.

        Sql("postgresql://reader@db/lake", "SELECT id FROM batch WHERE day = :day", params={"day": "2026-11-21"})

    Args:
        url: A postgresql or sqlite URL; a SecretRef if it contains a password.
        query: One statement. Its parameters have the form `:day`.
        params: Values of the parameters, bound by the driver.
        condition: A CEL expression over `rows` (up to 100 objects) and `row` (the first, or null). By default one row
            is enough.
        interval: Time between two polls: a timedelta, seconds, or text such as `30s`.
        timeout: The limit of one query, up to one minute.
        cursor: The value of the parameter `:cursor`, as text. The column `cursor` of the first row is the next one.
    """

    poll_at_once = 5000
    requires = ("sqlalchemy", "greenlet", "asyncpg", "aiosqlite")
    extra = "torpor[sql]"

    def __init__(  # noqa: PLR0913 - the parts of a query, each with a default
        self,
        url: str | Reference,
        query: str,
        *,
        params: Mapping[str, bool | float | str | Reference | None] | None = None,
        condition: str | None = None,
        interval: timedelta | float | str = INTERVAL,
        timeout: timedelta | float | str = TIMEOUT,
        cursor: Cursor = UNSET,
    ) -> None:
        self.url = arguments.url_of_server(url, database_url.parse_database_url)
        self.query = _query(query)
        self.params = _params(params)
        self.condition = polling.condition_text(condition)
        self.interval = arguments.seconds(interval, "interval", least=polling.INTERVAL_MIN)
        self.timeout = arguments.seconds(timeout, "timeout", least=polling.INTERVAL_MIN)
        if self.timeout > TIMEOUT_MAX:
            raise ValueError(f"timeout is {self.timeout:g} seconds; {TIMEOUT_MAX:g} are allowed for a query")
        self.cursor = _cursor(cursor, self.query, self.params)
        self.bound = self.params | cursors.stored(self.cursor)
        self._seen: tuple[int, str] | None = None

    def serialize(self) -> tuple[str, Mapping[str, Any]]:
        """Return the arguments that differ from their defaults."""
        given = arguments.differing(self, Sql.__init__, params=self.params or None)
        return "sql", given | cursors.stored(self.cursor)

    def bind(self, services: Services) -> None:
        """Check the condition, and that an SQLite file is in an allowed folder. Raises ValueError."""
        super().bind(services)
        self.database = database_url.parse_database_url(self.url)
        if isinstance(self.database, SqliteFile):
            file_access.folder_of(self.database.path, services.folders)
        if self.condition is not None:
            services.check(self.condition, ROOTS)

    @property
    def source(self) -> Hashable:  # type: ignore[override]
        """The database and the query, without the values of the parameters."""
        kinds = frozenset((name, isinstance(value, str)) for name, value in self.bound.items())
        return self.database, tuple(self.services.folders), self.query, kinds, self.timeout

    @classmethod
    async def poll_many(cls, waits: "Sequence[Sql]", services: Services) -> Sequence[TriggerEvent | Exception | None]:
        """Send one query for all of them."""
        first = waits[0]
        if not sql_engine.is_loaded():
            await services.in_thread(sql_engine.load)
        key = ("sql", services.namespace, first.database, tuple(services.folders))
        async with services.shared(
            key, lambda: sql_engine.connect(first.database, services), sql_engine.close
        ) as engine:
            try:
                async with services.answering():
                    return await first.ask(engine, waits)
            except OSError as error:
                raise first.translated(error) from error

    async def ask(self, engine: "AsyncEngine", waits: "Sequence[Sql]") -> Sequence[TriggerEvent | Exception | None]:
        """Return the result of each deferral on this source."""
        given, most = [wait.bound for wait in waits], self.services.answer_bytes
        answers = await sql_batch.ask(engine, self.query, given, seconds=self.timeout, most=most)
        return await polling.gather_results([wait.answer(rows) for wait, rows in zip(waits, answers, strict=True)])

    def answer(self, result: "Rows | Exception") -> "Coroutine[Any, Any, TriggerEvent | None] | Exception | None":
        """Return the result for these rows; a coroutine if the condition must be evaluated."""
        if isinstance(result, OSError) and not isinstance(result, PermissionError):
            self.last_look = str(self.translated(result))
            return None
        if isinstance(result, Exception):
            return result
        self.last_look = f"the query returns {_counted(len(result))}"
        return self._judged(result) if result or self.condition is not None else None

    async def _judged(self, fetched: "Rows") -> TriggerEvent | None:
        rows = [sql_batch.json_row(row) for row in fetched]
        if not await self._meets(rows):
            return None
        return TriggerEvent(self._event(rows))

    def _event(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        """Return the event; with a cursor only the first row, because the cursor after it is that of the event."""
        if self.cursor is UNSET:
            return events.fit_items({"count": len(rows)}, "rows", rows)
        if not rows:
            raise ValueError("condition is true without a row, but the next cursor is a column of the first row")
        event = cursors.with_cursor({"count": 1}, self.cursor, self._next(rows[0]))
        return events.fit_items(event, "rows", rows[:1])

    def _next(self, row: Mapping[str, Any]) -> str:
        match row.get(trigger.CURSOR):
            case bool() | None:
                raise ValueError("the query must return a column `cursor` with a text or an integer")
            case str() | int() as value if len(str(value)) <= constants.CURSOR_MAX:
                after = str(value)
            case value:
                raise ValueError(
                    f"the column `cursor` is of type {type(value).__name__} or too long: it must be text of up to "
                    f"{constants.CURSOR_MAX} characters; write CAST(... AS text) AS cursor"
                )
        if after == self.cursor:
            raise ValueError("the column `cursor` is the cursor itself, so the row would fire again: compare with >")
        return after

    async def _meets(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        if self.condition is None:
            return True
        text = canonical.plain(rows)
        if len(text) > _JUDGED_MAX:
            raise ValueError(f"the rows are larger than {_JUDGED_MAX} bytes of JSON: select fewer columns or rows")
        if self._seen is None or self._seen[0] != hash(text):
            variables = {"rows": rows, "row": rows[0] if rows else None}
            verdict = await polling.evaluate_condition(self.services, self.condition, variables)
            if verdict.holds:
                return True
            self._seen = hash(text), verdict.words
        self.last_look += f"; {self._seen[1]}"
        return False

    def translated(self, error: OSError) -> OSError:
        """Return the error with a message that names the database, without secrets."""
        words = self._shown(error)
        if isinstance(error, AddressDeniedError):
            return AddressDeniedError(f"{self._where()}: {words}")
        if isinstance(error, PermissionError):
            return PermissionError(f"{self._where()}: {words}")
        kind = TimeoutError if isinstance(error, TimeoutError) else ConnectionError
        return kind(f"{self._where()} does not answer: {words}")

    def _where(self) -> str:
        return "the database" if isinstance(self.url, Revealed) else f"the database {self.database}"

    def _shown(self, error: OSError) -> str:
        """Return the text of an error without values from a Secret, the host included."""
        words = error.strerror or str(error) or type(error).__name__
        if isinstance(self.url, Revealed) and isinstance(self.database, PostgresServer):
            words = words.replace(self.database.host, "***").replace(self.database.password or "***", "***")
        return words


def _query(query: object) -> str:
    if not isinstance(query, str):
        raise TypeError(f"query must be SQL as text, not {type(query).__name__}")
    if not query.strip() or len(query) > _QUERY_MAX or "\0" in query:
        raise ValueError(f"query must be one statement of 1 to {_QUERY_MAX} characters")
    return query


def _params(params: object) -> dict[str, Any]:
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise TypeError(f"params must be a mapping, not {type(params).__name__}")
    for name, value in params.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"params: {name!r:.50} is not a valid parameter name")
        if arguments.is_reference(value):
            arguments.reference(value, f"params: {name}")
        elif not isinstance(value, bool | int | float | str | None):
            raise TypeError(
                f"params: {name} is of type {type(value).__name__}; it must be text, a number, a boolean or null"
            )
    return dict(params)


def _cursor(value: object, query: str, params: Mapping[str, Any]) -> Cursor:
    cursor = cursors.cursor(value)
    if cursor is not UNSET and trigger.CURSOR in params:
        raise ValueError("params: cursor is the name of the argument `cursor`; use another")
    if cursor is not UNSET and f":{trigger.CURSOR}" not in query:
        raise ValueError("query must contain :cursor, because the trigger has a cursor")
    return cursor


def _counted(number: int) -> str:
    match number:
        case 0:
            return "no row"
        case 1:
            return "1 row"
        case sql_engine.ROWS:
            return f"{number} rows or more"
        case _:
            return f"{number} rows"
