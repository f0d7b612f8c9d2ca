"""Authorizes callers by SubjectAccessReviews, and reads the TaskRuns they name; `token_reviews` authenticates them.

Positive answers are cached for some seconds. Refusals are never cached, so a new permission takes effect at once.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from cachetools import TTLCache
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import ACCESS_REVIEWS, TASKRUNS, WORKFLOWS
from torpor_wire import constants

from torpor_archive import errors as refusal
from torpor_archive.auth import policy, reviewer
from torpor_archive.auth.policy import Caller, TaskRunAccess
from torpor_archive.auth.token_reviews import TokenReviews
from torpor_archive.errors import RefusedError
from torpor_archive.limits.review_rates import RequestOrigin
from torpor_archive.limits.transfer_slots import SlotLimits, TransferSlots

CACHE_SECONDS = 10.0
CACHE_ENTRIES = 4096
ACCESS_REVIEWS_LIMITS = SlotLimits(total=24, per_namespace=6, reserved=8, max_waiting=64)
"""Refusals are not cached, so a caller may cause as many reviews as it sends requests."""


class AccessReviews:
    """Asks the API server, and caches what it allowed."""

    def __init__(self, api: Api, on_token_review: Callable[[str], object] = lambda _: None) -> None:
        self._api = api
        self._tokens = TokenReviews(api, on_token_review)
        self._places = TransferSlots(ACCESS_REVIEWS_LIMITS, "requests to the API server")
        timer = api.clock.monotonic
        self._allowed: TTLCache[Hashable, bool] = TTLCache(CACHE_ENTRIES, CACHE_SECONDS, timer)
        self._taskruns: TTLCache[tuple[str, str], TaskRunAccess] = TTLCache(CACHE_ENTRIES, CACHE_SECONDS, timer)

    async def authenticate(self, token: str, client: RequestOrigin) -> Caller:
        """Identify the caller by a token for the archive's audience only. Raises RefusedError (401, 503)."""
        return await self._tokens.authenticate(token, client)

    async def get_taskrun(self, namespace: str, name: str) -> TaskRunAccess:
        """Read a TaskRun. Raises RefusedError (403) if it does not exist."""
        taskrun = self._taskruns[namespace, name] = await self._read_taskrun(namespace, name)
        return taskrun

    async def get_recent_taskrun(self, namespace: str, name: str, caller: Caller) -> TaskRunAccess:
        """Return the cached TaskRun if the caller's pod claimed it; otherwise read it, as the claim may be new."""
        cached = self._taskruns.get((namespace, name))
        return cached if cached and cached.pod_uid == caller.pod_uid else await self.get_taskrun(namespace, name)

    async def get_workflow(self, namespace: str, name: str) -> Mapping[str, Any]:
        """Read a Workflow. Raises RefusedError (403) if it does not exist."""
        try:
            async with self._places.acquire(f"{namespace}/taskruns"):
                return await self._api.get(WORKFLOWS, namespace, name)
        except errors.NotFound:
            raise RefusedError(refusal.forbidden(f"there is no Workflow {name} in namespace {namespace}")) from None
        except errors.ApiError as error:
            raise RefusedError(reviewer.unavailable(error)) from error

    async def check_triggerer(self, caller: Caller, namespace: str, taskrun: TaskRunAccess) -> None:
        """Raise RefusedError (403) unless the caller is a triggerer of the pool of a TaskRun."""
        if not await self.is_allowed(caller, "fire", "triggerpools", namespace, taskrun.pool):
            raise RefusedError(refusal.forbidden(f"{caller.user} may not `fire` pool {taskrun.pool}"))

    async def is_allowed(self, caller: Caller, verb: str, plural: str, namespace: str, name: str = "") -> bool:
        """Return whether the API server's authorizer allows the verb on Torpor's resource, or on the named one."""
        resource = {"group": constants.GROUP, "version": constants.VERSION, "resource": plural}
        return await self._is_allowed(caller, verb, resource | ({"name": name} if name else {}), namespace)

    async def check_operator(self, caller: Caller, namespace: str) -> None:
        """Raise RefusedError (403) unless the caller is the operator."""
        if not await self.is_allowed(caller, "operate", "taskruns", namespace):
            raise RefusedError(refusal.forbidden(f"{caller.user} is not the operator: it may not `operate` TaskRuns"))

    async def may_read_logs(self, caller: Caller, namespace: str) -> bool:
        """Return whether the caller may get TaskRuns and the logs of pods in the namespace."""
        pod_logs = {"group": "", "version": "v1", "resource": "pods", "subresource": "log"}
        return await self.is_allowed(caller, "get", "taskruns", namespace) and await self._is_allowed(
            caller, "get", pod_logs, namespace
        )

    async def _is_allowed(self, caller: Caller, verb: str, resource: Mapping[str, str], namespace: str) -> bool:
        key = (caller.identity, verb, namespace, tuple(sorted(resource.items())))
        if key in self._allowed:
            return True
        attributes = {"verb": verb, "namespace": namespace, **resource}
        extra = {key: list(values) for key, values in caller.extra.items()}
        spec = {"user": caller.user, "uid": caller.uid, "groups": list(caller.groups), "extra": extra}
        async with self._places.acquire(caller.share):
            status = await reviewer.review(self._api, ACCESS_REVIEWS, spec | {"resourceAttributes": attributes})
        if status.get("allowed") is not True:
            return False
        self._allowed[key] = True
        return True

    async def _read_taskrun(self, namespace: str, name: str) -> TaskRunAccess:
        try:
            async with self._places.acquire(f"{namespace}/taskruns"):
                return policy.parse_taskrun(await self._api.get(TASKRUNS, namespace, name))
        except errors.NotFound:
            raise RefusedError(refusal.forbidden(f"there is no TaskRun {name} in namespace {namespace}")) from None
        except ValueError as error:
            raise RefusedError(refusal.invalid(str(error))) from error
        except errors.ApiError as error:
            raise RefusedError(reviewer.unavailable(error)) from error
