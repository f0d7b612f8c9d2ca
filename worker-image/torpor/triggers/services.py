"""What a triggerer provides to a trigger: time, expressions, HTTP, connections and Kubernetes objects.

Thousands of triggers share one connection pool, tests and simulations pass their own implementation, and this module
imports nothing heavy. A trigger receives `Services` in `bind`; Airflow's triggers have no `bind` and do without.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from torpor_wire.canonical import Json

if TYPE_CHECKING:
    import socket

    from torpor.triggers.support.metering import ByteMeter

T = TypeVar("T")


class NotYetError(Exception):
    """An expression has no value yet, usually because a field is missing."""


class Request(NamedTuple):
    """An HTTP request. `seconds` limits its duration; without `follow`, a redirect is the answer.

    At most `most` bytes of the body are read, within the limit of the triggerer.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    seconds: float
    body: bytes | None = None
    follow: bool = True
    most: int = 1024**2


class HttpResponse(NamedTuple):
    """An HTTP response: header names in lower case, the body up to its limit."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool


class EndedWorkflows(NamedTuple):
    """Workflows that have ended.

    `is_later`: the list before is at least `again` seconds old. Each Workflow has `metadata` with name and uid, and
    `status` with state, completionTime and conditions.
    """

    workflows: Sequence[Mapping[str, Any]]
    is_later: bool


class TaskRunRef(NamedTuple):
    """Identifies one deferral: another attempt or segment is another deferral."""

    name: str
    uid: str
    attempt: int
    segment: int


class Proxy(Protocol):
    """A forward proxy for a client that opens its own connections.

    `denied` is the reason why an address was denied, `failed` why a connection failed. Both are empty after a reset.
    """

    url: str
    denied: str
    failed: str

    async def close(self) -> None:
        """Close the proxy."""


class Services(Protocol):
    """What one deferral may use."""

    @property
    def namespace(self) -> str:
        """The namespace of the TaskRun."""

    @property
    def taskrun(self) -> TaskRunRef:
        """The TaskRun that is deferred."""

    def make(self, class_name: str, kwargs: Mapping[str, Any]) -> Any:
        """Create a trigger of a registered class and bind it, for triggers that run others.

        Raises LookupError for an unknown class, and the exceptions of the class for its kwargs.
        """

    def now(self) -> float:
        """Return the seconds since the epoch."""

    async def sleep(self, seconds: float) -> None:
        """Sleep for so many seconds."""

    def jitter(self) -> float:
        """Return a random number from 0 to 1."""

    def check(self, expression: str, roots: frozenset[str]) -> None:
        """Raise ValueError if an expression is invalid, with position and reason."""

    async def evaluate(self, expression: str, variables: Mapping[str, Json]) -> Json:
        """Return the value of an expression. Raises NotYetError if it has none yet, ValueError if it never will."""

    async def request(self, request: Request) -> HttpResponse:
        """Send one HTTP request.

        Raises OSError without an answer in time, ValueError for a header that must not be set.
        """

    async def reach(self, host: str, port: int, *, seconds: float) -> str:
        """Open a TCP connection, close it, and return the address. Raises OSError if none is accepted in time."""

    async def connect(self, host: str, port: int, *, seconds: float, meter: "ByteMeter") -> "socket.socket":
        """Open a TCP connection; `meter` counts the bytes that it receives.

        Raises OSError if none is accepted in time, PermissionError if the address is denied.
        """

    async def proxy(self, meter: "ByteMeter") -> Proxy:
        """Return a proxy for a client that opens its own connections; `meter` counts the bytes that it receives."""

    def answering(self) -> AbstractAsyncContextManager[None]:
        """Hold this while a response is read and evaluated. Raises OSError if the memory for responses is in use."""

    @property
    def answer_bytes(self) -> int:
        """The maximum size of a response in bytes."""

    @property
    def longest_request(self) -> float:
        """The maximum duration of a request in seconds."""

    def versions(
        self, api_version: str, kind: str, name: str, *, managed: bool = False
    ) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield an object of the TaskRun's namespace now and after each change; nothing while it does not exist.

        With `managed`, the object contains the `metadata.managedFields` entries of the managers of
        `torpor.dev/approval`. Raises ValueError for an unknown or cluster-scoped kind, PermissionError if RBAC denies
        it.
        """

    def ends(self, labels: Mapping[str, str], *, again: float) -> AsyncGenerator[EndedWorkflows, None]:
        """Yield the Workflows of the namespace with these labels that have ended: now, and after each further end.

        Further lists follow, `again` seconds after the one before, until two are equal. Raises PermissionError if RBAC
        denies it.
        """

    async def polled(self, trigger: Any) -> Any:
        """Return the event of a trigger with `poll_many`, polled with all others of its `source`."""

    def hide(self, texts: Collection[str]) -> None:
        """Replace these texts by `***` from now on, as the values of Secrets are: in logs, messages and events.

        For secrets that a trigger gets by itself. Raises ValueError for more than 100 texts at a time, for a text of
        more than 64 KiB, and if a wait hides some hundreds of texts.
        """

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run `work` in a worker thread and return its result. If the caller is cancelled, the thread continues."""

    def shared(
        self, key: Hashable, connect: Callable[[], T], close: Callable[[T], Awaitable[None]]
    ) -> AbstractAsyncContextManager[T]:
        """Share a client by key within this namespace and service account.

        `connect` creates it for the first user without waiting for a server, and `close` ends it after the last. The
        key begins with the name of a trigger and contains everything that distinguishes clients, secrets included.
        Raises OSError (`polling.BusyError`) if the namespace has reached its limit of clients.
        """

    @property
    def folders(self) -> Sequence[str]:
        """Absolute paths of the folders whose files a deferral of this namespace may see."""

    @property
    def lends_identity(self) -> bool:
        """Whether a deferral may use the cloud identity of the triggerer's pod."""
