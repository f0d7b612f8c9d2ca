"""What the endpoints share: settings of the page, callers, feeds, and the parsed objects of all identities."""

from dataclasses import dataclass, field

from torpor_ui.acts.rights import Rights
from torpor_ui.cluster.caller import Callers
from torpor_ui.feeds.registry import FeedRegistry
from torpor_ui.feeds.run import shared_instances
from torpor_ui.feeds.run_list import shared_rows
from torpor_ui.feeds.scans import Scans
from torpor_ui.feeds.shared_objects import SharedObjects
from torpor_ui.http.middleware import RequestGuard
from torpor_ui.presentation.instances import CachedInstance
from torpor_ui.presentation.run_rows import RunRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What the endpoints share. `namespaces` are shown to a caller who has chosen none."""

    guard: RequestGuard
    callers: Callers
    feeds: FeedRegistry = field(default_factory=FeedRegistry)
    rows: SharedObjects[RunRow] = field(default_factory=shared_rows)
    instances: SharedObjects[CachedInstance] = field(default_factory=shared_instances)
    rights: Rights = field(default_factory=Rights)
    scans: Scans = field(default_factory=Scans)
    namespaces: tuple[str, ...] = ()
    version: str = ""
