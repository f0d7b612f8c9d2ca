"""Watches objects with the rights of one ServiceAccount: one watch for all tasks of a namespace, an account and a kind.

It keeps no objects. A subscriber sees the latest version only, so an object that changes a hundred times a second costs
no more than its subscriber reads. Where a change may have been missed, the subscriber is told to read again.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager
from functools import partial
from typing import Any, NamedTuple

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import PAGE, Page
from torpor_kubernetes.client.resources import Resource
from torpor_wire import constants
from torpor_wire.retry import Backoff

from torpor_triggerer.model.object_error import AccountForbiddenError
from torpor_triggerer.services.account_tokens import AccountApi
from torpor_triggerer.services.client_pool import ClientPool

RETRY = Backoff(first=0.2, cap=30.0)
REFUSED_SECONDS = 60.0
"""A right that is missing may come with the Workflow, or come back; after this time the tasks fail."""
LONG = 10.0

log = logging.getLogger(__name__)


class ObjectSelector(NamedTuple):
    """The objects of a watch: those of object tasks, or one by its name."""

    name: str = ""

    @property
    def fields(self) -> str:
        """The field selector of a list or a watch."""
        return f"metadata.name={self.name}" if self.name else ""

    @property
    def labels(self) -> str:
        """The label selector of a list or a watch."""
        return "" if self.name else constants.LABEL_OBJECT_OF


class ObjectSubscription:
    """The latest version of one object that its reader has not seen, and whether it must read the object again."""

    def __init__(self) -> None:
        self._latest: Mapping[str, Any] | None = None
        self._stale = False
        self._error: BaseException | None = None
        self._woken = asyncio.Event()

    def show(self, version: Mapping[str, Any]) -> None:
        """Replace the version that was not read yet."""
        self._latest = version
        self._woken.set()

    def mark_stale(self) -> None:
        """Let the reader read the object again: it was deleted, or changes may have been missed."""
        self._stale, self._latest = True, None
        self._woken.set()

    def fail(self, error: BaseException) -> None:
        """End the subscription with an error."""
        self._error = error
        self._woken.set()

    async def next(self) -> Mapping[str, Any] | None:
        """Return the next version, None if the object must be read again. Raises the error that ended the watch."""
        while self._latest is None and not self._stale:
            if self._error is not None:
                raise self._error
            self._woken.clear()
            await self._woken.wait()
        latest, self._latest, self._stale = self._latest, None, False
        return latest


class AccountWatch:
    """The watch, and its subscriptions by the names of objects."""

    def __init__(self, account: AccountApi, resource: Resource, selector: ObjectSelector) -> None:
        self._account = account
        self._api = account.api
        self._resource = resource
        self._namespace = account.account.namespace
        self._selector = selector
        self._subscriptions: dict[str, set[ObjectSubscription]] = {}
        self._failures = 0
        self._refused_at: float | None = None
        self._error: BaseException | None = None
        self._begun = asyncio.Event()
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(self._ended)

    @contextmanager
    def subscribed(self, name: str) -> Iterator[ObjectSubscription]:
        """Subscribe to an object inside the block."""
        subscription = ObjectSubscription()
        self._subscriptions.setdefault(name, set()).add(subscription)
        if self._error is not None:
            subscription.fail(self._error)
        try:
            yield subscription
        finally:
            self._subscriptions[name].discard(subscription)
            if not self._subscriptions[name]:
                del self._subscriptions[name]

    async def begun(self) -> None:
        """Return when changes are not missed any more. Raises the error that ended the watch."""
        await self._begun.wait()
        if self._error is not None:
            raise self._error

    async def close(self) -> None:
        """End the watch."""
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def _run(self) -> None:
        version, has_begun = "", False
        while True:
            try:
                if not version:
                    version = await self._read_all() if has_begun else await self._position()
                    has_begun = True
                    self._begun.set()
                version = await self._follow(version)
            except errors.Gone:
                version = ""
            except (errors.Forbidden, AccountForbiddenError) as error:
                version = ""
                self._refused(error)
            except errors.ApiError as error:
                self._failures += 1
                log.info("%s in %s: watch failed; retrying: %s", self._resource.plural, self._namespace, error.message)
            if self._failures:
                await self._api.clock.sleep(RETRY.delay(self._failures, self._api.jitter()))

    async def _position(self) -> str:
        """Return the current resourceVersion. Subscribers read their objects themselves."""
        async with aclosing(self._pages(limit=1)) as pages:
            version = (await anext(pages)).resource_version
        self._refused_at = None
        return version

    def _pages(self, limit: int = PAGE) -> AsyncGenerator[Page, None]:
        selector = self._selector
        return self._api.pages(
            self._resource,
            self._namespace,
            field_selector=selector.fields,
            label_selector=selector.labels,
            limit=limit,
        )

    async def _read_all(self) -> str:
        """Show all objects after a gap, and let the subscribers of the others read again."""
        missing = set(self._subscriptions)
        version = ""
        async with aclosing(self._pages()) as pages:
            async for page in pages:
                version = page.resource_version
                for item in page.items:
                    missing.discard(item["metadata"]["name"])
                    self._show(item)
        self._refused_at = None
        for name in missing:
            self._mark_stale(name)
        return version

    async def _follow(self, version: str) -> str:
        """Run one watch and return where the next starts. A short one without events counts as a failure."""
        started = self._api.clock.monotonic()
        self._failures += 1
        events = self._api.watch(
            self._resource,
            self._namespace,
            resource_version=version,
            field_selector=self._selector.fields,
            label_selector=self._selector.labels,
        )
        async with aclosing(events):
            async for event in events:
                self._failures, self._refused_at = 0, None
                version = str(event.object["metadata"]["resourceVersion"])
                match event.type:
                    case "ADDED" | "MODIFIED":
                        self._show(event.object)
                    case "DELETED":
                        self._mark_stale(event.object["metadata"]["name"])
        if self._api.clock.monotonic() - started >= LONG:
            self._failures = 0
        return version

    def _refused(self, error: errors.Forbidden | AccountForbiddenError) -> None:
        """Try again for a while; then raise the error, which ends all subscriptions."""
        if isinstance(error, errors.Forbidden):
            self._account.token.forget()
        self._failures += 1
        now = self._api.clock.monotonic()
        self._refused_at = now if self._refused_at is None else self._refused_at
        if now - self._refused_at >= REFUSED_SECONDS:
            raise error

    def _show(self, version: Mapping[str, Any]) -> None:
        for subscription in self._subscriptions.get(version["metadata"]["name"], ()):
            subscription.show(version)

    def _mark_stale(self, name: str) -> None:
        for subscription in self._subscriptions.get(name, ()):
            subscription.mark_stale()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if task.cancelled():
            return
        self._error = task.exception() or RuntimeError("the watch has ended")
        for subscriptions in self._subscriptions.values():
            for subscription in subscriptions:
                subscription.fail(self._error)
        self._begun.set()


def watch_of(
    clients: ClientPool, account: AccountApi, resource: Resource, selector: ObjectSelector
) -> AbstractAsyncContextManager[AccountWatch]:
    """Return the watch that all tasks with this account, kind and selector share, in the share of the namespace."""
    key = ("object-task", account.account, resource.api_version, resource.plural, selector)
    namespace = account.account.namespace
    return clients.acquire(key, partial(AccountWatch, account, resource, selector), AccountWatch.close, namespace)
