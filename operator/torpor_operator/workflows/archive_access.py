"""All that the operator does with the archive, wired together: finding it, uploading runs, and settled logs."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Never, Self

from torpor_kubernetes.client.api import Api

from torpor_operator.controller.archive import Archive, RunStore
from torpor_operator.controller.settled_logs import Post, SettledLogCache
from torpor_operator.controller.workqueue import Key
from torpor_operator.workflows.archive_uploads import ArchiveUploads


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveAccess:
    """The parts, which run beside the reconcile loop."""

    archive: Archive
    uploads: ArchiveUploads
    settled_logs: SettledLogCache

    @classmethod
    def build(  # noqa: PLR0913 - clients and callbacks
        cls,
        api: Api,
        namespace: str,
        store: RunStore,
        post: Post,
        *,
        enqueue: Callable[[Key], None],
        grace: float,
        jitter: Callable[[], float] = random.random,
    ) -> Self:
        """Build them. `namespace` has the archive's ConfigMap; `grace` is the first pause after a failed upload."""
        archive = Archive(api, namespace, store)
        uploads = ArchiveUploads(
            archive.store_run,
            api.clock,
            enqueue=enqueue,
            grace=grace,
            not_before=archive.events.next_list_at,
            on_idle=archive.events.drop,
            jitter=jitter,
        )
        logs = SettledLogCache(api.clock, archive.endpoint, post)
        return cls(archive=archive, uploads=uploads, settled_logs=logs)

    async def run(self) -> Never:
        """Run all of them, forever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.archive.run())
            group.create_task(self.uploads.run())
            group.create_task(self.settled_logs.run())
        raise AssertionError("unreachable")
