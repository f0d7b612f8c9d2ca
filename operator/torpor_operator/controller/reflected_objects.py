"""The objects of one kind from a reflector, as the reconcile loop and the cache of the kind read them."""

import logging
from collections.abc import Callable, Iterable
from typing import Any, Generic, Never, Protocol, TypeVar

from torpor_crds.models.base import Metadata
from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.client.resources import Resource

from torpor_operator.controller.context import ControllerContext
from torpor_operator.controller.workqueue import Key, key_of

_LOG = logging.getLogger(__name__)


class HasMetadata(Protocol):
    """An object of a kind."""

    @property
    def metadata(self) -> Metadata:
        """Its metadata."""


T = TypeVar("T", bound=HasMetadata)


class ReflectedObjects(Generic[T]):
    """The objects of a reflector, which misses no deletion.

    `on_change` takes the key of each object that changes. `index` returns the words by which `indexed` finds an object.
    """

    def __init__(
        self,
        context: ControllerContext,
        resource: Resource,
        parse: Callable[[dict[str, Any]], T],
        on_change: Callable[[Key], None],
        *,
        index: Callable[[T], Iterable[str]] = lambda _: (),
    ) -> None:
        self.resource = resource
        self._on_change = on_change
        self._reflector: Reflector[T] = Reflector(
            context.api,
            resource,
            context.guard.reader(resource.kind, parse),
            on_change=self._changed,
            index=index,
            jitter=context.jitter,
            namespaces=context.settings.namespaces,
        )

    async def run(self) -> Never:
        """Watch the objects, forever."""
        await self._reflector.run()

    def keys(self) -> list[Key]:
        """The keys of all objects."""
        return [key_of(item.metadata) for item in self._reflector.store.values()]

    def get(self, key: Key) -> T | None:
        """The last version of an object that could be read."""
        return self._reflector.store.get(*key)

    def find(self, key: Key) -> T | Unreadable | None:
        """An object, why its last version cannot be read, or None if it does not exist."""
        return self.unreadable(key) or self.get(key)

    def indexed(self, word: str) -> Iterable[T]:
        """The objects with this word of `index`."""
        return self._reflector.store.indexed(word)

    def uid(self, key: Key) -> str | None:
        """The uid of an object, or None if it is gone."""
        stored = self.get(key)
        return None if stored is None else stored.metadata.uid

    def unreadable(self, key: Key) -> Unreadable | None:
        """Why an object cannot be read, or None if it can."""
        return self._reflector.store.unreadable(*key)

    def absorb(self, stored: dict[str, Any]) -> None:
        """Take in the API server's answer to a write."""
        self._reflector.store.absorb(stored)

    async def refresh(self) -> None:
        """List the objects again: the former leader may have stored a status a moment ago."""
        await self._reflector.refresh()

    async def drop_deleted(self) -> None:
        """Do nothing."""

    def _changed(self, change: Notice[T]) -> None:
        if isinstance(change, Unreadable):
            kind = self.resource.kind
            _LOG.warning("cannot read %s %s/%s: %s", kind, change.namespace, change.name, change.message)
        self._on_change(Key(change.namespace, change.name))
