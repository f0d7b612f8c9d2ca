"""Authenticates tokens by TokenReviews, as few as possible: a token that is not known never delays a known one.

- A token that cannot be good is refused without a review (`token_claims`).
- Answers are cached for some seconds, those that refuse as well. Requests with the same token share one review.
- A token that was good some minutes ago is reviewed again at once. Others need a place in `ReviewRates`, and only some
  of them are reviewed at a time.
"""

import asyncio
import hashlib
from collections.abc import Callable

from cachetools import TTLCache
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import Resource
from torpor_wire import constants

from torpor_archive import errors as refusal
from torpor_archive.auth import policy, reviewer, token_claims
from torpor_archive.auth.policy import Caller
from torpor_archive.errors import RefusedError
from torpor_archive.limits.known_tokens import KnownTokens
from torpor_archive.limits.review_rates import RequestOrigin, ReviewRates

CACHE_SECONDS = 10.0
CACHE_ENTRIES = 4096
UNKNOWN_AT_A_TIME = 8
UNKNOWN_WAITING = 64
_REJECTED = "it expired, its pod was deleted, or it is for another audience"
TOKENS = Resource(
    group="authentication.k8s.io", version="v1", plural="tokenreviews", kind="TokenReview", namespaced=False
)


class TokenReviews:
    """The callers of tokens. `on_review` gets the outcome: Accepted, Rejected, Malformed or Limited."""

    def __init__(self, api: Api, on_review: Callable[[str], object] = lambda _: None) -> None:
        self._api = api
        self._on_review = on_review
        timer = api.clock.monotonic
        self._callers: TTLCache[bytes, Caller] = TTLCache(CACHE_ENTRIES, CACHE_SECONDS, timer)
        self._rejected: TTLCache[bytes, None] = TTLCache(CACHE_ENTRIES, CACHE_SECONDS, timer)
        self._known = KnownTokens()
        self._pending: dict[bytes, asyncio.Task[Caller]] = {}
        self._rates = ReviewRates()
        self._unknown = asyncio.Semaphore(UNKNOWN_AT_A_TIME)
        self._waiting = 0

    async def authenticate(self, token: str, client: RequestOrigin) -> Caller:
        """Identify the caller by a token for the archive's audience. Raises RefusedError (401, 503)."""
        key = hashlib.sha256(token.encode(errors="surrogatepass")).digest()
        if (caller := self._callers.get(key)) is not None:
            return caller
        if key in self._rejected:
            raise RefusedError(_rejected(_REJECTED))
        if problem := token_claims.problem(token, constants.ARCHIVE_AUDIENCE, self._api.clock.now()):
            self._on_review("Malformed")
            raise RefusedError(_rejected(problem))
        return await asyncio.shield(self._pending.get(key) or self._start(key, token, client))

    def _start(self, key: bytes, token: str, client: RequestOrigin) -> asyncio.Task[Caller]:
        now = self._api.clock.monotonic()
        is_known = self._known.contains(key, now)
        if not is_known and (self._waiting >= UNKNOWN_WAITING or not self._rates.take(client, now)):
            self._on_review("Limited")
            raise RefusedError(refusal.unavailable("Busy", "too many tokens that are not known yet; try again later"))
        self._waiting += not is_known
        task = asyncio.create_task(self._review(key, token) if is_known else self._review_unknown(key, token))
        self._pending[key] = task
        task.add_done_callback(lambda done: self._ended(key, done))
        return task

    def _ended(self, key: bytes, task: asyncio.Task[Caller]) -> None:
        self._pending.pop(key, None)
        if not task.cancelled():
            task.exception()  # every request that waited for it may be gone

    async def _review_unknown(self, key: bytes, token: str) -> Caller:
        try:
            async with self._unknown:
                return await self._review(key, token)
        finally:
            self._waiting -= 1

    async def _review(self, key: bytes, token: str) -> Caller:
        spec = {"token": token, "audiences": [constants.ARCHIVE_AUDIENCE]}
        caller = policy.parse_caller(await reviewer.review(self._api, TOKENS, spec))
        if caller is None:
            self._on_review("Rejected")
            self._rejected[key] = None
            self._known.remove(key)
            raise RefusedError(_rejected(_REJECTED))
        self._on_review("Accepted")
        self._callers[key] = caller
        self._known.add(key, caller.namespace or caller.user, self._api.clock.monotonic())
        return caller


def _rejected(cause: str) -> refusal.ErrorResponse:
    message = f"the token is not valid for audience {constants.ARCHIVE_AUDIENCE}: {cause}"
    return refusal.unauthenticated(message)
