"""ServiceAccounts of an API server in memory: who may be used by tasks, who may act, and requests with their tokens."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.resources import Resource
from torpor_kubernetes.client.transport import APPLY_PATCH, JSON, MERGE_PATCH, Response
from torpor_local.apiserver.objects import DeniedError
from torpor_local.apiserver.server import ApiServer
from torpor_triggerer.services.account_tokens import Authorization
from torpor_wire import constants

JOBS = Resource(group="batch", version="v1", plural="jobs", kind="Job")
_BEARER = "Bearer token-of-"


class ClusterAccounts:
    """The accounts by name. `allowed` says whether their owner lets tasks use them, `may_act` whether a Role does."""

    def __init__(self, fake: ApiServer) -> None:
        self.fake = fake
        self.opted_in = True
        self.allowed: dict[str, bool] = {}
        self.may_act: set[str] = set()
        self.tokens = 0
        self.requests: list[tuple[str, str, str]] = []
        """Account, method and path of each request with a token."""
        fake.serve(JOBS)

    def add(self, name: str, *, allowed: bool = True, may_act: bool = True) -> None:
        """Create an account."""
        self.allowed[name] = allowed
        if may_act:
            self.may_act.add(name)

    def answer(self, path: str) -> Response:
        """Answer a request of the triggerer about an account."""
        name, _, subresource = path.partition("/serviceaccounts/")[2].partition("/")
        if not self.opted_in:
            return _denied(
                HTTPStatus.FORBIDDEN, "Forbidden", "serviceaccounts is forbidden: User cannot get resource it"
            )
        if name not in self.allowed:
            return _denied(HTTPStatus.NOT_FOUND, "NotFound", f'serviceaccounts "{name}" not found')
        if subresource == "token":
            self.tokens += 1
            return Response(HTTPStatus.CREATED, {"status": {"token": f"token-of-{name}"}})
        mark = {constants.ACCOUNT_TOKENS: constants.TOKENS_ALLOWED} if self.allowed[name] else {}
        return Response(HTTPStatus.OK, {"metadata": {"name": name, "annotations": mark}})

    def as_account(self, namespace: str, authorization: Authorization) -> "AccountRequests":
        """The transport of one account."""
        assert namespace
        return AccountRequests(self, authorization)


class AccountRequests:
    """Implements `Transport` with the token of an account."""

    def __init__(self, accounts: ClusterAccounts, authorization: Authorization) -> None:
        self._accounts = accounts
        self._authorization = authorization

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> Response:
        if (denied := await self._denied(method, path)) is not None:
            return denied
        if content_type in {MERGE_PATCH, APPLY_PATCH}:
            return self._patched(path, body, creates=content_type == APPLY_PATCH)
        return await self._accounts.fake.request(method, path, query=query, body=body, content_type=content_type)

    async def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[Mapping[str, Any], None]:
        if (denied := await self._denied("WATCH", path)) is not None:
            raise errors.from_response(denied)
        async with aclosing(self._accounts.fake.stream(path, query=query)) as events:
            async for event in events:
                yield event

    async def _denied(self, method: str, path: str) -> Response | None:
        account = str(await self._authorization()).removeprefix(_BEARER)
        self._accounts.requests.append((account, method, path))
        if account not in self._accounts.allowed:
            return _denied(HTTPStatus.UNAUTHORIZED, "Unauthorized", "Unauthorized")
        if account in self._accounts.may_act:
            return None
        message = (
            f'jobs.batch is forbidden: User "{account}" cannot {method.lower()} resource "jobs" in API group "batch"'
        )
        return _denied(HTTPStatus.FORBIDDEN, "Forbidden", message)

    def _patched(self, path: str, body: Any, *, creates: bool) -> Response:
        fake = self._accounts.fake
        namespace, name = body["metadata"]["namespace"], path.rpartition("/")[2]
        if fake.get(JOBS, namespace, name) is not None:
            return Response(HTTPStatus.OK, fake.edit(JOBS, namespace, name, body))
        if creates:
            return Response(HTTPStatus.CREATED, fake.put(JOBS, body))
        return _denied(HTTPStatus.NOT_FOUND, "NotFound", f'jobs.batch "{name}" not found')


def _denied(code: int, reason: str, message: str) -> Response:
    return Response(code, DeniedError(code, reason, message).body)
