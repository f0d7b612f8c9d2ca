"""Authenticates and authorizes callers by TokenReviews and SubjectAccessReviews, and reads the TaskRuns they name.

Positive answers are cached for some seconds. Refusals are never cached, so a new permission takes effect at once.
"""

import hashlib
from collections.abc import Mapping
from itertools import chain
from typing import Any

from cachetools import TTLCache
from torpor_api.client import errors
from torpor_api.client.api import Api
from torpor_api.client.resources import ACCESS_REVIEWS, TASKRUNS, Resource
from torpor_wire import constants

from torpor_archive import errors as refusal
from torpor_archive.auth import policy
from torpor_archive.auth.policy import Caller, TaskRunView
from torpor_archive.errors import RefusedError

CACHE_SECONDS = 10.0
CACHE_ENTRIES = 4096
TOKENS = Resource(
    group="authentication.k8s.io", version="v1", plural="tokenreviews", kind="TokenReview", namespaced=False
)
PAUSES = (0.2, 0.5, 1.0)
"""Seconds before each retry of a review. A review changes nothing, so a retry is safe."""


class AccessReviews:
    """Asks the API server, and caches what it allowed."""

    def __init__(self, api: Api) -> None:
        self._api = api
        timer = api.clock.monotonic
        self._callers: TTLCache[bytes, Caller] = TTLCache(CACHE_ENTRIES, CACHE_SECONDS, timer)
        self._allowed: TTLCache[tuple[str, ...], bool] = TTLCache(CACHE_ENTRIES, CACHE_SECONDS, timer)
        self._taskruns: TTLCache[tuple[str, str], TaskRunView] = TTLCache(CACHE_ENTRIES, CACHE_SECONDS, timer)

    async def authenticate(self, token: str) -> Caller:
        """Identify the caller by a token for the archive's audience, and for no other. Raises RefusedError (401)."""
        key = hashlib.sha256(token.encode()).digest()
        caller = self._callers.get(key)
        if caller is None:
            caller = self._callers[key] = await self._review_token(token)
        return caller

    async def get_taskrun(self, namespace: str, name: str) -> TaskRunView:
        """Read a TaskRun. Raises RefusedError (403) if it does not exist."""
        taskrun = self._taskruns[namespace, name] = await self._read_taskrun(namespace, name)
        return taskrun

    async def get_recent_taskrun(self, namespace: str, name: str, caller: Caller) -> TaskRunView:
        """Return the cached TaskRun if the caller's pod claimed it; otherwise read it, as the claim may be new."""
        cached = self._taskruns.get((namespace, name))
        return cached if cached and cached.pod_uid == caller.pod_uid else await self.get_taskrun(namespace, name)

    async def is_allowed(self, caller: Caller, verb: str, plural: str, namespace: str, name: str = "") -> bool:
        """Return whether the API server's authorizer allows the verb on Torpor's resource, or on the named one."""
        resource = {"group": constants.GROUP, "version": constants.VERSION, "resource": plural}
        return await self._is_allowed(caller, verb, resource | ({"name": name} if name else {}), namespace)

    async def check_operator(self, token: str, namespace: str) -> None:
        """Raise RefusedError (401, 403) unless the token is the operator's."""
        caller = await self.authenticate(token)
        if not await self.is_allowed(caller, "operate", "taskruns", namespace):
            raise RefusedError(refusal.forbidden(f"{caller.user} is not the operator: it may not `operate` TaskRuns"))

    async def may_read_logs(self, caller: Caller, namespace: str) -> bool:
        """Return whether the caller may get TaskRuns and the logs of pods in the namespace."""
        pod_logs = {"group": "", "version": "v1", "resource": "pods", "subresource": "log"}
        return await self.is_allowed(caller, "get", "taskruns", namespace) and await self._is_allowed(
            caller, "get", pod_logs, namespace
        )

    async def _is_allowed(self, caller: Caller, verb: str, resource: Mapping[str, str], namespace: str) -> bool:
        key = (caller.user, caller.uid, *caller.groups, verb, namespace, *chain.from_iterable(resource.items()))
        if key in self._allowed:
            return True
        attributes = {"verb": verb, "namespace": namespace, **resource}
        extra = {key: list(values) for key, values in caller.extra.items()}
        spec = {"user": caller.user, "uid": caller.uid, "groups": list(caller.groups), "extra": extra}
        status = await self._review(ACCESS_REVIEWS, spec | {"resourceAttributes": attributes})
        if status.get("allowed") is not True:
            return False
        self._allowed[key] = True
        return True

    async def _review_token(self, token: str) -> Caller:
        spec = {"token": token, "audiences": [constants.ARCHIVE_AUDIENCE]}
        caller = policy.parse_caller(await self._review(TOKENS, spec))
        if caller is not None:
            return caller
        raise RefusedError(
            refusal.unauthenticated(
                f"the API server rejected the token for audience {constants.ARCHIVE_AUDIENCE}: it expired, its pod was "
                "deleted, or it is for another audience"
            )
        )

    async def _read_taskrun(self, namespace: str, name: str) -> TaskRunView:
        try:
            return policy.parse_taskrun(await self._api.get(TASKRUNS, namespace, name))
        except errors.NotFound:
            raise RefusedError(refusal.forbidden(f"there is no TaskRun {name} in namespace {namespace}")) from None
        except ValueError as error:
            raise RefusedError(refusal.invalid(str(error))) from error
        except errors.ApiError as error:
            raise RefusedError(_unavailable(error)) from error

    async def _review(self, resource: Resource, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
        for pause in PAUSES:
            try:
                return (await self._api.create(resource, None, body)).get("status") or {}
            except errors.Unavailable as error:
                await self._api.clock.sleep(error.retry_after or pause)
            except errors.ApiError as error:
                raise RefusedError(_unavailable(error)) from error
        try:
            return (await self._api.create(resource, None, body)).get("status") or {}
        except errors.ApiError as error:
            raise RefusedError(_unavailable(error)) from error


def _unavailable(error: errors.ApiError) -> refusal.Refusal:
    return refusal.unavailable("ApiUnavailable", f"cannot reach the API server to check access: {error.message[:200]}")
