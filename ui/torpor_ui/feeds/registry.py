"""The feeds of this process: one for each identity and view, never shared between identities."""

from collections.abc import Callable
from typing import TypeVar

from torpor_ui import errors
from torpor_ui.cluster.caller import Caller
from torpor_ui.feeds.feed import Feed

FEEDS_PER_CALLER = 100
FEEDS_MAX = 2000

F = TypeVar("F", bound=Feed)


class FeedRegistry:
    """Finds the feed of a caller, or makes it."""

    def __init__(self) -> None:
        self._feeds: dict[tuple[str, str], Feed] = {}

    def __len__(self) -> int:
        return len(self._feeds)

    def get(self, caller: Caller, view: str, make: Callable[[], F], kind: type[F]) -> F:
        """Return the caller's feed of a view. Raises ProblemError (429) if there are too many."""
        key = (caller.key, view)
        feed = self._feeds.get(key)
        if feed is None or feed.ended or feed.outdated:
            self._sweep()
            own = sum(1 for owner, _ in self._feeds if owner == caller.key)
            if own >= FEEDS_PER_CALLER or len(self._feeds) >= FEEDS_MAX:
                raise errors.too_many(f"you look at {own} different views at once")
            feed = self._feeds[key] = make()
        if not isinstance(feed, kind):
            raise TypeError(f"the view {view} is a {type(feed).__name__}")
        return feed

    def known(self, caller: Caller, view: str, kind: type[F]) -> F | None:
        """Return the caller's feed of a view if somebody looks at it; None if it would have to be made."""
        feed = self._feeds.get((caller.key, view))
        return feed if isinstance(feed, kind) and not feed.ended else None

    def drop(self, caller: Caller) -> None:
        """End all feeds of a caller whose credentials are not accepted any more."""
        problem = errors.not_logged_in("the API server does not accept your credentials any more")
        for key, feed in list(self._feeds.items()):
            if key[0] == caller.key:
                feed.close(problem)
        self._sweep()

    def close(self) -> None:
        """End all feeds."""
        for feed in self._feeds.values():
            feed.close()
        self._feeds.clear()

    def _sweep(self) -> None:
        """Forget the feeds that have ended, and those that nobody began to look at."""
        for key, feed in list(self._feeds.items()):
            if feed.ended or not feed.started:
                del self._feeds[key]
