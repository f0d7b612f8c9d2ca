"""What the endpoints share: settings of the page, callers, feeds, and the parsed objects of all identities."""

from dataclasses import dataclass, field

from torpor_wire.constants import SYSTEM_NAMESPACE

from torpor_ui.acts.rights import Rights
from torpor_ui.cluster.caller import Caller, Callers
from torpor_ui.feeds.registry import FeedRegistry
from torpor_ui.feeds.run import RunFeed, shared_instances
from torpor_ui.feeds.run_list import RunListFeed, shared_rows
from torpor_ui.feeds.scans import Scans
from torpor_ui.feeds.shared_objects import SharedObjects
from torpor_ui.http.middleware import RequestGuard
from torpor_ui.presentation.instances import CachedInstance
from torpor_ui.presentation.run_rows import RunRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What the endpoints share. `namespaces` are shown to a caller who has chosen none.

    `system` is the namespace of the installation.
    """

    guard: RequestGuard
    callers: Callers
    system: str = SYSTEM_NAMESPACE
    feeds: FeedRegistry = field(default_factory=FeedRegistry)
    rows: SharedObjects[RunRow] = field(default_factory=shared_rows)
    instances: SharedObjects[CachedInstance] = field(default_factory=shared_instances)
    rights: Rights = field(default_factory=Rights)
    scans: Scans = field(default_factory=Scans)
    namespaces: tuple[str, ...] = ()
    version: str = ""

    def run(self, caller: Caller, namespace: str, name: str) -> RunFeed:
        """Return the caller's feed of a live run. Raises ProblemError (429)."""

        def make() -> RunFeed:
            return RunFeed(caller, namespace, name, self.instances)

        return self.feeds.get(caller, _run_view(namespace, name), make, RunFeed)

    def known_run(self, caller: Caller, namespace: str, name: str) -> RunFeed | None:
        """Return the caller's feed of a live run if somebody looks at it."""
        return self.feeds.known(caller, _run_view(namespace, name), RunFeed)

    def run_list(self, caller: Caller, namespace: str | None) -> RunListFeed:
        """Return the caller's feed of the live runs of a namespace; None: of all. Raises ProblemError (429)."""

        def make() -> RunListFeed:
            return RunListFeed(caller.api, namespace, self.rows)

        return self.feeds.get(caller, f"runs/{namespace or ''}", make, RunListFeed)


def _run_view(namespace: str, name: str) -> str:
    return f"run/{namespace}/{name}"
