"""What an object task does to the cluster: the verbs, with the rights of its ServiceAccount and with its patience.

A request that fails is repeated: without a limit while the API server does not answer, and for a minute while a right
is missing, since Roles may come with the Workflow. What a person must change becomes an `ObjectTaskError`.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeAlias, TypeVar

from torpor.triggers.support.polling import BusyError
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import Resource
from torpor_wire.objects import object_manifest
from torpor_wire.reason import Reason
from torpor_wire.retry import Backoff

from torpor_triggerer.model.object_error import AccountForbiddenError, ObjectTaskError
from torpor_triggerer.services import account_watch
from torpor_triggerer.services.account_tokens import AccountApi
from torpor_triggerer.services.account_watch import REFUSED_SECONDS, AccountWatch, ObjectSelector
from torpor_triggerer.services.client_pool import ClientPool

RETRY = Backoff(first=0.5, cap=30.0)
T = TypeVar("T")
Object: TypeAlias = Mapping[str, Any]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountObjects:
    """The objects of one kind in the namespace of a task. `say` gets what keeps the task from going on."""

    common: Api
    account: AccountApi
    clients: ClientPool
    resource: Resource
    say: Callable[[str], None]

    @property
    def namespace(self) -> str:
        """The namespace of the objects."""
        return self.account.account.namespace

    async def create(self, body: Object) -> Object | None:
        """Create an object. None if its name is taken."""
        try:
            return await self._patiently("create", lambda: self._api.create(self.resource, self.namespace, body))
        except errors.AlreadyExists:
            return None

    async def get(self, name: str) -> Object | None:
        """Read an object. None if there is none."""
        try:
            return await self._patiently("get", lambda: self._api.get(self.resource, self.namespace, name))
        except errors.NotFound:
            return None

    async def merge(self, name: str, body: Object) -> Object:
        """Change an object by a merge patch. Raises ObjectTaskError if there is none."""
        try:
            return await self._patiently("patch", lambda: self._api.merge(self.resource, self.namespace, name, body))
        except errors.NotFound as error:
            raise ObjectTaskError(Reason.OBJECT_REFUSED, error.message) from error

    async def apply(self, name: str, body: Object, manager: str) -> Object:
        """Apply an object. Raises ObjectTaskError if another manager owns one of its fields."""
        apply = self._api.apply
        try:
            return await self._patiently(
                "patch", lambda: apply(self.resource, self.namespace, name, body, manager=manager)
            )
        except errors.Conflict as error:
            raise ObjectTaskError(Reason.OBJECT_TAKEN, error.message) from error

    async def delete(self, name: str, uid: str | None = None) -> None:
        """Delete an object if it exists. With `uid`, another one of its name stays."""
        try:
            await self._patiently("delete", lambda: self._api.delete(self.resource, self.namespace, name, uid=uid))
        except errors.Conflict:
            log.info("%s %s is another object by now; it is not deleted", self.resource.kind, name)

    def watch(self, selector: ObjectSelector) -> AbstractAsyncContextManager[AccountWatch]:
        """Return the shared watch of these objects."""
        return account_watch.watch_of(self.clients, self.account, self.resource, selector)

    def forbidden(self, error: errors.Forbidden | AccountForbiddenError, verb: str = "watch") -> ObjectTaskError:
        """Return the failure for a missing right, with the command that shows it."""
        if isinstance(error, AccountForbiddenError):
            return error
        group = self.resource.group
        name = f"{self.resource.plural}.{group}" if group else self.resource.plural
        command = object_manifest.can_i(verb, name, self.namespace, self.account.account.name)
        hint = f"; check it with {command}" if command else ""
        return ObjectTaskError(Reason.OBJECT_FORBIDDEN, f"{error.message}{hint}")

    @property
    def _api(self) -> Api:
        return self.account.api

    async def _patiently(self, verb: str, ask: Callable[[], Awaitable[T]]) -> T:
        """Return what `ask` does. Raises NotFound and conflicts as they are, other refusals as ObjectTaskError."""
        clock, started, failures = self.common.clock, self.common.clock.monotonic(), 0
        while True:
            try:
                return await ask()
            except (errors.NotFound, errors.Conflict, errors.AlreadyExists):
                raise
            except (errors.Forbidden, AccountForbiddenError) as error:
                if isinstance(error, errors.Forbidden):
                    self.account.token.forget()
                refused = self.forbidden(error, verb)
                if clock.monotonic() - started >= REFUSED_SECONDS or _is_final(error):
                    raise refused from error
                self.say(refused.message)
            except (errors.ApiUnavailable, BusyError) as error:
                self.say(str(error))
            except errors.ApiError as error:
                raise ObjectTaskError(Reason.OBJECT_REFUSED, error.message) from error
            failures += 1
            await clock.sleep(RETRY.delay(failures, self.common.jitter()))


def _is_final(error: errors.Forbidden | AccountForbiddenError) -> bool:
    """Whether a policy refused the object itself, which no Role changes. A quota may be free again."""
    if not isinstance(error, errors.Forbidden) or error.status == HTTPStatus.UNAUTHORIZED:
        return False
    return not (error.lacks_role or error.exceeds_quota)


async def discover(api: Api, api_version: str, kind: str, say: Callable[[str], None]) -> Resource:
    """Return the resource of a kind. Raises ObjectTaskError if there is none, or if it has no namespace."""
    failures = 0
    while True:
        try:
            resource = await api.discover(api_version, kind)
        except errors.NotFound as error:
            raise ObjectTaskError(Reason.OBJECT_REFUSED, error.message) from error
        except errors.ApiError as error:
            say(error.message)
        else:
            if resource.namespaced:
                return resource
            message = f"a {kind} has no namespace, and a task acts on objects of its own namespace only"
            raise ObjectTaskError(Reason.OBJECT_REFUSED, message)
        failures += 1
        await api.clock.sleep(RETRY.delay(failures, api.jitter()))
