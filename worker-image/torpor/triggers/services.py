"""What a triggerer lends to a trigger: time, expressions, HTTP and Kubernetes objects.

Lent, so that thousands of triggers share one connection pool and a simulation can put its own in their place, and so
that nothing heavy is imported here. `bind` receives it; a trigger that has no `bind`, such as Airflow's, does without.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from torpor_wire.canonical import Json

if TYPE_CHECKING:
    import socket

    from torpor.triggers.support.metering import Meter

T = TypeVar("T")


class NotYetError(Exception):
    """An expression has no value over what is there now; a field that is still missing, as a rule."""


class Request(NamedTuple):
    """What an HTTP server is asked, for how long (seconds); where not to `follow`, a redirect is the answer.

    Of the body no more than `most` bytes are read, and no more than the triggerer reads of any.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    seconds: float
    body: bytes | None = None
    follow: bool = True
    most: int = 1024**2


class Answer(NamedTuple):
    """What an HTTP server answered: header names in lower case, the body up to its limit."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool


class TaskRunRef(NamedTuple):
    """Which wait of which TaskRun it is: another attempt or segment is another wait."""

    name: str
    uid: str
    attempt: int
    segment: int


class Proxy(Protocol):
    """A forward proxy for a client that opens connections by itself.

    `denied` is why an address was, `failed` why one was not connected to; empty where none was since they were emptied.
    """

    url: str
    denied: str
    failed: str

    async def close(self) -> None:
        """The client is done."""


class Services(Protocol):
    """Lent for one wait."""

    @property
    def namespace(self) -> str:
        """The namespace of the TaskRun."""

    @property
    def taskrun(self) -> TaskRunRef:
        """The TaskRun that waits."""

    def make(self, class_name: str, kwargs: Mapping[str, Any]) -> Any:
        """A trigger of a registered class, bound to what is lent here, for who runs several as one.

        Raises LookupError where no class has the name, and whatever the class raises for the kwargs.
        """

    def now(self) -> float:
        """Seconds since the epoch."""

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""

    def jitter(self) -> float:
        """A number from 0 to 1 that differs from call to call."""

    def check(self, expression: str, roots: frozenset[str]) -> None:
        """Raise ValueError for an expression that cannot work, saying where and why."""

    async def evaluate(self, expression: str, variables: Mapping[str, Json]) -> Json:
        """The value of an expression. Raises NotYetError where it has none, ValueError where it never will."""

    async def request(self, asked: Request) -> Answer:
        """One HTTP request. Raises OSError where there is no answer in time, ValueError for a header not to be set."""

    async def reach(self, host: str, port: int, *, seconds: float) -> str:
        """Open a TCP connection, close it, and say at which address. Raises OSError where none is accepted in time."""

    async def connect(self, host: str, port: int, *, seconds: float, meter: "Meter") -> "socket.socket":
        """A TCP connection whose answers `meter` counts, without a client of its own yet.

        Raises OSError where none is accepted in time, of which PermissionError where waits may not be connected there.
        """

    async def proxy(self, meter: "Meter") -> Proxy:
        """A way to servers for a client that opens connections by itself; `meter` counts all that it receives."""

    def answering(self) -> AbstractAsyncContextManager[None]:
        """Held while an answer is read and judged. Raises OSError where there is no room for it now."""

    @property
    def answer_bytes(self) -> int:
        """How large an answer of a server may be."""

    @property
    def longest_request(self) -> float:
        """For how many seconds one request may be waited for."""

    def versions(
        self, api_version: str, kind: str, name: str, *, managed: bool = False
    ) -> AsyncGenerator[Mapping[str, Any], None]:
        """An object of the TaskRun's namespace as it is and each time it changes; nothing while it does not exist.

        Where `managed` says so, it has the entries of `metadata.managedFields` of who wrote `torpor.dev/approval`.
        Raises ValueError for a kind that does not exist or has no namespace, PermissionError where it is not allowed.
        """

    async def polled(self, trigger: Any) -> Any:
        """The event of a trigger whose class has `poll_many`: asked for with all that wait on its `source`."""

    async def in_thread(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises, from a worker thread; it goes on there where the caller is cancelled."""

    def shared(
        self, key: Hashable, connect: Callable[[], T], close: Callable[[T], Awaitable[None]]
    ) -> AbstractAsyncContextManager[T]:
        """The one client of this namespace and service account for a key.

        `connect` makes it for who comes first, `close` ends it after the last.

        Raises OSError (`polling.BusyError`) where the namespace has as many as it may. `connect` only makes it and does
        not wait for a server. The key holds whatever makes a client another, secrets
        too, and begins with the name of a trigger.
        """

    @property
    def folders(self) -> Sequence[str]:
        """The folders, as absolute paths, whose files a wait of this namespace may look at."""

    @property
    def lends_identity(self) -> bool:
        """Whether a wait may use what this triggerer's pod is itself allowed elsewhere, such as in a cloud."""
