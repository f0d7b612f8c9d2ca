"""What the controllers of all kinds share in one process, and what each of them offers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Never, Protocol

from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import Resource
from torpor_wire.retry import Backoff

from torpor_operator.controller.archive import Archive
from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.cluster_writer import ClusterWriter
from torpor_operator.controller.namespace_claims import NamespaceClaims
from torpor_operator.controller.namespaces import Namespaces, NamespaceUser
from torpor_operator.controller.queries import QueryResolver
from torpor_operator.controller.reconcile_loop import Loop, M, ObjectSource, ReconcileLoop
from torpor_operator.controller.triggerer_pools import TriggererPools
from torpor_operator.controller.unreadable_objects import UnreadableReporter
from torpor_operator.controller.workqueue import Key, WorkQueue
from torpor_operator.injection.detector import ImageVolumes
from torpor_operator.observability.operator_metrics import OperatorMetrics
from torpor_operator.quarantine.cpu_shares import CpuShares
from torpor_operator.quarantine.work_guard import WorkGuard
from torpor_operator.settings import Settings


class KindController(NamespaceUser, Protocol):
    """The controller of one kind."""

    def watches(self) -> Sequence[Loop]:
        """The loops that run in every replica, also while another one leads."""

    async def run(self) -> Never:
        """Reconcile until cancelled, while this replica leads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerContext:
    """The shared parts."""

    api: Api
    settings: Settings
    jitter: Callable[[], float]
    guard: WorkGuard
    cpu_shares: CpuShares
    cluster: ClusterCache
    writer: ClusterWriter
    resolver: QueryResolver
    reporter: UnreadableReporter
    archive: Archive
    namespaces: Namespaces
    claims: NamespaceClaims
    triggerer_pools: TriggererPools
    image_volumes: ImageVolumes
    metrics: OperatorMetrics

    def work_queue(self, resource: Resource) -> WorkQueue:
        """The queue of one kind. A namespace has the same CPU time in the queues of all kinds."""
        return WorkQueue(self.api.clock, cpu_shares=self.cpu_shares, metrics=self.metrics.loop(resource.kind))

    def reconcile_loop(  # noqa: PLR0913 - what differs between kinds
        self,
        objects: ObjectSource,
        queue: WorkQueue,
        memory: Callable[[], M],
        *,
        workers: int,
        backoff: Backoff,
        on_failure: Callable[[Key], None] = lambda _: None,
    ) -> ReconcileLoop[M]:
        """Build the loop of one kind."""
        return ReconcileLoop(
            objects,
            queue,
            memory,
            clock=self.api.clock,
            reporter=self.reporter,
            resync=self.settings.resync,
            workers=workers,
            backoff=backoff,
            jitter=self.jitter,
            guard=self.guard,
            serves=self.claims.serves,
            on_failure=on_failure,
        )
