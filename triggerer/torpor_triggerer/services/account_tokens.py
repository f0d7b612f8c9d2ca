"""Tokens of ServiceAccounts: object tasks act with the rights of their account, never with those of Torpor (ADR 0075).

The owner of an account allows it by an annotation, and the namespace by a RoleBinding. Both are asked again for each
token, and a token lives ten minutes. No token is stored or logged.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import ACCOUNTS
from torpor_kubernetes.client.transport import Transport
from torpor_wire.objects import account_mark

from torpor_triggerer.model.object_error import AccountForbiddenError

TOKEN_SECONDS = 600
"""The shortest life of a token that the API server allows."""
RENEW_SECONDS = 120.0
"""A token is renewed so long before its end."""
COMPONENT = "manifests/components/object-tasks"

Authorization: TypeAlias = Callable[[], Awaitable[str | None]]
AsAccount: TypeAlias = Callable[[str, Authorization], Transport]
"""Returns a transport for a namespace that sends other credentials over the connections of this process."""

log = logging.getLogger(__name__)


class Account(NamedTuple):
    """A ServiceAccount."""

    namespace: str
    name: str


class AccountToken:
    """The token of one account, requested when it is needed."""

    def __init__(self, api: Api, account: Account) -> None:
        self._api = api
        self._account = account
        self._token = ""
        self._ends_at = 0.0
        self._lock = asyncio.Lock()

    async def authorization(self) -> str:
        """Return the Authorization header. Raises AccountForbiddenError if the account may not be used."""
        async with self._lock:
            left = self._ends_at - self._api.clock.monotonic()
            if left < RENEW_SECONDS:
                try:
                    await self._renew()
                except errors.ApiUnavailable:
                    if left <= 0:
                        raise
            return f"Bearer {self._token}"

    def forget(self) -> None:
        """Request another token next time: the API server has refused this one."""
        self._ends_at = 0.0

    async def _renew(self) -> None:
        namespace, name = self._account
        self.forget()
        try:
            account = await self._api.get(ACCOUNTS, namespace, name)
            check_allowed(account, self._account)
            spec = {"expirationSeconds": TOKEN_SECONDS}
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
            issued = await self._api.create_in(ACCOUNTS, namespace, name, "token", body)
        except errors.NotFound as error:
            raise AccountForbiddenError(account_mark.absence(namespace, name)) from error
        except errors.Forbidden as error:
            raise AccountForbiddenError(
                f"the triggerer may not act as ServiceAccount {name}: namespace {namespace} has not opted in; an "
                f"administrator can add {COMPONENT} to its kustomization ({error.message})"
            ) from error
        self._token = str(issued["status"]["token"])
        self._ends_at = self._api.clock.monotonic() + TOKEN_SECONDS


def check_allowed(stored: Mapping[str, Any], account: Account) -> None:
    """Raise AccountForbiddenError unless the owner of the account lets tasks use it."""
    if not account_mark.allows_tasks(stored):
        raise AccountForbiddenError(account_mark.refusal(*account))


class AccountApi:
    """The API server as one account."""

    def __init__(self, api: Api, account: Account, as_account: AsAccount) -> None:
        self.account = account
        self.token = AccountToken(api, account)
        self.api = Api(as_account(account.namespace, self.token.authorization), api.clock, jitter=api.jitter)


class AccountApis:
    """The accounts that waits of this process use at the moment."""

    def __init__(self, api: Api, as_account: AsAccount | None = None) -> None:
        self._api = api
        self._as_account = as_account
        self._open: WeakValueDictionary[Account, AccountApi] = WeakValueDictionary()

    def api_for(self, account: Account) -> AccountApi:
        """Return the API server as this account. Raises AccountForbiddenError where nothing can be an account."""
        if self._as_account is None:
            raise AccountForbiddenError(
                "a local run acts on no cluster: give the result of the task, such as --event TASK=JSON"
            )
        held = self._open.get(account)
        if held is None:
            try:
                held = self._open[account] = AccountApi(self._api, account, self._as_account)
            except errors.Unconfigured as error:
                raise AccountForbiddenError(error.message) from error
        return held
