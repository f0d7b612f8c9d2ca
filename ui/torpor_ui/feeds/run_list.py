"""The live runs of a namespace, or of all, as one identity may list them."""

import random
from collections.abc import Coroutine, Iterator
from typing import Any, Never

from torpor_kubernetes.cache.reflector import Notice, Reflector
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import WORKFLOWS

from torpor_ui import errors
from torpor_ui.feeds.change_log import ChangeLog
from torpor_ui.feeds.feed import FATAL, WATCH_SECONDS, Feed
from torpor_ui.feeds.shared_objects import SharedObjects
from torpor_ui.presentation import run_rows
from torpor_ui.presentation.run_rows import RunRow

RUNS_MAX = 50_000

RunKey = tuple[str, str]


class RunListFeed(Feed):
    """Rows by namespace and name, and which of them changed."""

    def __init__(self, api: Api, namespace: str | None, shared: SharedObjects[RunRow]) -> None:
        super().__init__()
        self.log: ChangeLog[RunKey] = ChangeLog()
        self._reflector: Reflector[RunRow] = Reflector(
            api,
            WORKFLOWS,
            shared.parse,
            on_change=self._record,
            jitter=random.random,
            namespaces=(namespace,) if namespace else (),
            watch_seconds=WATCH_SECONDS,
            fatal=FATAL,
        )

    def __len__(self) -> int:
        return len(self._reflector.store)

    def rows(self) -> Iterator[RunRow]:
        """Return all rows."""
        return self._reflector.store.values()

    def row(self, key: RunKey) -> RunRow | None:
        """Return a row; None if the run is gone."""
        return self._reflector.store.get(*key)

    async def ready(self) -> None:
        """Wait for the first list."""
        await self._reflector.synced.wait()

    def _work(self) -> list[Coroutine[Any, Any, Never]]:
        return [self._reflector.run()]

    def _record(self, notice: Notice[RunRow]) -> None:
        if len(self) > RUNS_MAX:
            self.close(errors.too_large(f"there are more than {RUNS_MAX} runs", "Choose fewer namespaces."))
        self.log.record((notice.namespace, notice.name))
        self.changed.set()


def shared_rows() -> SharedObjects[RunRow]:
    """Return the rows that the feeds of all identities share."""
    return SharedObjects(run_rows.live)
