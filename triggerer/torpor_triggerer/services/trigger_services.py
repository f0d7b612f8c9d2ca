"""Implements the services of triggers (`torpor.triggers.services`) over API server, expressions and HTTP.

One set of backends for the process, one small value for each wait.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast

from torpor.triggers.services import EndedWorkflows, HttpResponse, NotYetError, Request, TaskRunRef
from torpor.triggers.support.metering import ByteMeter
from torpor_expressions import syntax
from torpor_expressions.errors import ExpressionError, ExpressionReason
from torpor_expressions.evaluator import Evaluating, EvaluatorUnavailable
from torpor_expressions.value import JSON, Value
from torpor_kubernetes.client.api import Api
from torpor_wire.canonical import Json

from torpor_triggerer.batching.batches import Answered, Member, PollStats
from torpor_triggerer.batching.pollers import Pollers
from torpor_triggerer.batching.source import PollContext
from torpor_triggerer.fairness.threads import WorkerThreads
from torpor_triggerer.logs import trigger_log
from torpor_triggerer.model.deferred_taskrun import SegmentId, TriggerWait
from torpor_triggerer.network.connections import MeteredSocket, OutboundNetwork, on_behalf_of
from torpor_triggerer.network.proxy import ProxyServer, ProxySession
from torpor_triggerer.network.sessions import Owner
from torpor_triggerer.services import http, object_watch, workflow_ends
from torpor_triggerer.services.account_tokens import AccountApis, AsAccount
from torpor_triggerer.services.archive import ArchiveUploadClient as ArchiveClient
from torpor_triggerer.services.client_pool import ClientPool, PinnedClients
from torpor_triggerer.services.workflow_ends import WorkflowSelection
from torpor_triggerer.usercode.registry import Registry

NAMESPACE = "{namespace}"
T = TypeVar("T")
UNAVAILABLE_DELAY = 5.0

log = logging.getLogger(__name__)


class HttpSender(Protocol):
    """Sends HTTP requests."""

    async def request(self, request: Request, owner: Owner) -> HttpResponse:
        """Return the response. Raises OSError if there is none in time, ValueError for forbidden headers."""


@dataclass(frozen=True, kw_only=True)  # no slots: a cached property needs the instance's dictionary
class Backends:
    """What all services share; the application builds it. In a folder, `{namespace}` is that of the wait."""

    api: Api
    evaluator: Evaluating
    web: HttpSender
    network: OutboundNetwork = field(default_factory=OutboundNetwork)
    proxies: ProxyServer = field(default_factory=ProxyServer)
    threads: WorkerThreads = field(default_factory=WorkerThreads)
    clients: ClientPool = field(default_factory=ClientPool)
    pollers: Pollers = field(default_factory=Pollers)
    folders: tuple[str, ...] = ()
    lends_identity: bool = False
    archive: ArchiveClient | None = None
    as_account: AsAccount | None = None

    @cached_property
    def accounts(self) -> AccountApis:
        """The API server with the rights of the ServiceAccounts of object tasks."""
        return AccountApis(self.api, self.as_account)

    def services_for(self, wait: TriggerWait, registry: Registry) -> "TriggerServices":
        """Return the services of one wait; `registry` has the classes that it may make."""
        return TriggerServices(
            namespace=wait.namespace,
            account=wait.account,
            name=wait.name,
            segment_id=wait.segment_id,
            backends=self,
            registry=registry,
        )

    async def evaluate(self, expression: str, variables: Mapping[str, Json], namespace: str) -> Value | ExpressionError:
        """Return the value of an expression of a namespace; retry while no worker process is available."""
        while True:
            try:
                values = cast("Mapping[str, JSON]", variables)
                return await self.evaluator.evaluate(expression, values, share=namespace)
            except EvaluatorUnavailable as error:
                log.warning("Failed to evaluate an expression; retrying: %s", error)
                await self.api.clock.sleep(UNAVAILABLE_DELAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerServices:
    """Implements `torpor.triggers.services.Services`. `pinned`: clients that stay open as long as a source."""

    namespace: str
    account: str = ""
    name: str
    segment_id: SegmentId
    backends: Backends
    registry: Registry
    poll_stats: PollStats = field(default_factory=PollStats)
    pinned: PinnedClients | None = None

    @property
    def owner(self) -> Owner:
        """The owner of its connections: none is shared with another owner."""
        return Owner(self.namespace, self.account)

    @property
    def taskrun(self) -> TaskRunRef:
        """The TaskRun that waits."""
        return TaskRunRef(self.name, *self.segment_id)

    def make(self, class_name: str, kwargs: Mapping[str, Any]) -> Any:
        """Return a trigger of a registered class."""
        return self.registry.make(class_name, kwargs, self)

    def now(self) -> float:
        """Return the seconds since the epoch."""
        return self.backends.api.clock.now()

    async def sleep(self, seconds: float) -> None:
        """Sleep. A trigger that sleeps has polled, and polls again afterwards."""
        self.record_poll(seconds)
        await self.backends.api.clock.sleep(seconds)

    def record_poll(self, seconds: float) -> None:
        """Record that a trigger has polled, and polls again after so many seconds."""
        now = self.now()
        self.poll_stats.tries += 1
        self.poll_stats.last_at, self.poll_stats.next_at = now, now + seconds

    def jitter(self) -> float:
        """Return a random number from 0 to 1."""
        return self.backends.api.jitter()

    def check(self, expression: str, roots: frozenset[str]) -> None:
        """Raise ValueError for an expression that cannot work."""
        problem = syntax.check(expression, roots=roots)
        if problem is not None:
            raise ValueError(f"{expression[:200]!r}: {problem.message}")

    async def evaluate(self, expression: str, variables: Mapping[str, Json]) -> Json:
        """Return the value of an expression."""
        return _value(await self.backends.evaluate(expression, variables, self.namespace))

    async def request(self, request: Request) -> HttpResponse:
        """Send one HTTP request, within the namespace's share, over connections of its account."""
        network = self.backends.network
        request = request._replace(seconds=min(request.seconds, network.request_seconds))
        async with network.hold(network.requests, self.namespace):
            with on_behalf_of(self.namespace):
                return await self.backends.web.request(request, self.owner)

    async def reach(self, host: str, port: int, *, seconds: float) -> str:
        """Open a TCP connection and close it."""
        return await http.reach(self.backends.network, self.namespace, host, port, seconds)

    async def connect(self, host: str, port: int, *, seconds: float, meter: ByteMeter) -> MeteredSocket:
        """Open a TCP connection."""
        return await self.backends.network.connect(self.namespace, host, port, seconds=seconds, meter=meter)

    async def proxy(self, meter: ByteMeter) -> ProxySession:
        """Return a proxy for a client that opens connections by itself."""
        return await self.backends.proxies.open(self.backends.network, self.namespace, meter)

    def answering(self) -> AbstractAsyncContextManager[None]:
        """Held while a response is read and evaluated."""
        return self.backends.network.hold(self.backends.network.answers, self.namespace)

    @property
    def answer_bytes(self) -> int:
        """The size limit of a response."""
        return self.backends.network.answer_bytes

    @property
    def longest_request(self) -> float:
        """The time limit of a request, in seconds."""
        return self.backends.network.request_seconds

    def versions(
        self, api_version: str, kind: str, name: str, *, managed: bool = False
    ) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield an object of the namespace, and each of its changes."""
        subject = object_watch.WatchedObject(api_version, kind, self.namespace, name, managed)
        return object_watch.versions(self.backends.api, self.backends.clients, subject)

    def ends(self, labels: Mapping[str, str], *, again: float) -> AsyncGenerator[EndedWorkflows, None]:
        """Yield the Workflows of the namespace with these labels that have ended."""
        selection = WorkflowSelection(self.namespace, labels)
        return workflow_ends.ends(self.backends.api, self.backends.clients, selection, again=again)

    def polled(self, trigger: Any) -> Coroutine[Any, Any, Any]:
        """Return the event of a trigger whose class has `poll_many`."""
        return self.backends.pollers.event(trigger, self.poll_stats, self._poll_context())

    def join_source(self, trigger: Any, answer: Answered) -> Member:
        """Poll a trigger with the others of its source; `answer` gets its event, or an error."""
        return self.backends.pollers.join(trigger, self.poll_stats, self._poll_context(), answer)

    def leave_source(self, member: Member) -> None:
        """Poll a trigger no more."""
        self.backends.pollers.leave(member)

    def _poll_context(self) -> PollContext:
        return PollContext(
            owner=self.owner,
            clock=self.backends.api.clock,
            jitter=self.backends.api.jitter,
            services_for=self._poll_services,
        )

    def _poll_services(self, until: AsyncExitStack) -> "TriggerServices":
        return replace(self, poll_stats=PollStats(), pinned=PinnedClients(self.backends.clients, until))

    def hide(self, texts: Collection[str]) -> None:
        """Redact texts in what the current trigger logs and returns."""
        trigger_log.hide(texts)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Return what `work` returns or raises in a worker thread."""
        return await self.backends.threads.call(work, self.namespace)

    def shared(
        self, key: Hashable, connect: Callable[[], T], close: Callable[[T], Awaitable[None]]
    ) -> AbstractAsyncContextManager[T]:
        """Return the client of this namespace and service account for a key."""
        clients = self.pinned or self.backends.clients
        return clients.acquire((self.owner, key), connect, close, self.namespace)

    @property
    def folders(self) -> Sequence[str]:
        """The folders that waits of this namespace may read."""
        return tuple(folder.replace(NAMESPACE, self.namespace) for folder in self.backends.folders)

    @property
    def lends_identity(self) -> bool:
        """Whether waits may use the cloud identity of this pod."""
        return self.backends.lends_identity


def _value(result: Value | ExpressionError) -> Json:
    match result:
        case Value(json=value):
            return cast("Json", value)
        case ExpressionError(reason=ExpressionReason.FAILED, message=message):
            raise NotYetError(message)
        case ExpressionError(message=message):
            raise ValueError(message)
