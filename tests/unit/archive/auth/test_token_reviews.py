"""Tokens that are made up cost few reviews, and none of them delays a token that is known."""

import asyncio
from typing import Any, cast

import pytest
from torpor_archive.auth import token_claims, token_reviews
from torpor_archive.auth.token_reviews import TokenReviews
from torpor_archive.errors import RefusedError
from torpor_archive.limits.known_tokens import KnownTokens
from torpor_archive.limits.review_rates import CLIENT, PEER, TOTAL, RequestOrigin, ReviewRates
from torpor_kubernetes.client.api import Api
from torpor_wire import constants

from tests.support.fake_api import VirtualClock
from tests.support.fake_api.clock import settle
from tests.unit.archive.auth.tokens import LATER, encode, make_token

ATTACKER, TASK = RequestOrigin("10.0.0.66"), RequestOrigin("10.0.0.1")
NOW = 1_700_000_000.0


class Reviewer:
    """Accepts the tokens in `good`, and answers when `open` is set."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.good: set[str] = set()
        self.reviewed: list[str] = []
        self.open = asyncio.Event()
        self.open.set()
        self.results: list[str] = []

    async def create(self, _resource: object, _namespace: None, body: dict[str, Any]) -> dict[str, Any]:
        token = body["spec"]["token"]
        self.reviewed.append(token)
        if token not in self.good:
            await self.open.wait()
        user = {"username": "system:serviceaccount:team:torpor-task"}
        return {"status": {"authenticated": token in self.good, "user": user}}


@pytest.fixture
async def api() -> Reviewer:
    return Reviewer()


@pytest.fixture
def tokens(api: Reviewer) -> TokenReviews:
    return TokenReviews(cast("Api", api), api.results.append)


async def refused(tokens: TokenReviews, token: str, client: RequestOrigin = ATTACKER) -> int:
    with pytest.raises(RefusedError) as caught:
        await tokens.authenticate(token, client)
    return caught.value.refusal.status


MALFORMED = [
    "nonsense",
    "a.b.c",
    f"{encode({})}.{encode([])}.c",
    f"{encode({})}..c",
    "x" * 9000,
    make_token() + "." + "c",
    make_token() + "\udcff",  # a byte of the header that is not UTF-8, as aiohttp decodes it
    f"{encode({})}.{'W1tb' * 1000}.c",
]


@pytest.mark.parametrize("token", MALFORMED)
def test_a_token_that_is_no_jwt_needs_no_review(token: str) -> None:
    assert token_claims.problem(token, constants.ARCHIVE_AUDIENCE, NOW) == "it is not a JSON Web Token"


@pytest.mark.parametrize(
    ("claims", "problem"),
    [
        ({}, None),
        ({"aud": constants.ARCHIVE_AUDIENCE}, None),
        ({"aud": ["https://kubernetes.default.svc"]}, "it is not for audience torpor-archive"),
        ({"aud": {"torpor-archive": 1}}, "it is not for audience torpor-archive"),
        ({"aud": None}, "it is not for audience torpor-archive"),
        ({"exp": NOW - token_claims.LEEWAY_SECONDS - 1}, "it has expired"),
        ({"exp": NOW - 1}, None),
        ({"exp": "tomorrow"}, "it has expired"),
        ({"exp": 10**400}, None),
    ],
)
def test_the_claims_of_a_token_refuse_it_and_never_accept_it(claims: dict[str, Any], problem: str | None) -> None:
    assert token_claims.problem(make_token(**claims), constants.ARCHIVE_AUDIENCE, NOW) == problem


async def test_a_token_that_cannot_be_good_is_refused_without_a_review(api: Reviewer, tokens: TokenReviews) -> None:
    for token in (*MALFORMED, make_token(aud=[]), make_token(exp=0)):
        assert await refused(tokens, token) == 401
    assert (api.reviewed, set(api.results)) == ([], {"Malformed"})


async def test_a_token_that_was_rejected_is_not_reviewed_again_for_some_seconds(
    api: Reviewer, tokens: TokenReviews
) -> None:
    token = make_token()
    assert [await refused(tokens, token) for _ in range(3)] == [401, 401, 401]
    assert len(api.reviewed) == 1
    api.good.add(token)
    await api.clock.advance(token_reviews.CACHE_SECONDS + 1)
    await tokens.authenticate(token, TASK)


@pytest.mark.attack
async def test_requests_with_the_same_unknown_token_share_a_review(api: Reviewer, tokens: TokenReviews) -> None:
    api.open.clear()
    waiting = [asyncio.create_task(refused(tokens, make_token())) for _ in range(40)]
    await settle()
    api.open.set()
    assert await asyncio.gather(*waiting) == [401] * 40
    assert len(api.reviewed) == 1


@pytest.mark.attack
async def test_made_up_tokens_of_an_address_cost_few_reviews(api: Reviewer, tokens: TokenReviews) -> None:
    statuses = [await refused(tokens, make_token(f"made-up-{number}")) for number in range(500)]
    assert len(api.reviewed) == statuses.count(401) == CLIENT.burst
    assert statuses.count(503) == 500 - CLIENT.burst
    task = make_token("task")
    api.good.add(task)
    assert (await tokens.authenticate(task, TASK)).namespace == "team"


@pytest.mark.attack
async def test_made_up_tokens_never_delay_a_known_one(api: Reviewer, tokens: TokenReviews) -> None:
    task = make_token("task")
    api.good.add(task)
    await tokens.authenticate(task, ATTACKER)
    await api.clock.advance(token_reviews.CACHE_SECONDS + 1)
    api.open.clear()  # the API server does not answer reviews of other tokens
    flood = [
        asyncio.create_task(refused(tokens, make_token(f"made-up-{number}"), RequestOrigin(f"10.0.1.{number % 200}")))
        for number in range(1000)
    ]
    await settle()
    assert len(api.reviewed) == 1 + token_reviews.UNKNOWN_AT_A_TIME
    await tokens.authenticate(task, ATTACKER)
    assert len(api.reviewed) == 2 + token_reviews.UNKNOWN_AT_A_TIME
    assert sum(each.done() for each in flood) == 1000 - token_reviews.UNKNOWN_WAITING
    api.open.set()
    await asyncio.gather(*flood)


async def test_a_known_token_that_is_rejected_is_not_known_any_more(api: Reviewer, tokens: TokenReviews) -> None:
    task = make_token("task")
    api.good.add(task)
    await tokens.authenticate(task, TASK)
    api.good.clear()
    await api.clock.advance(token_reviews.CACHE_SECONDS + 1)
    assert await refused(tokens, task, ATTACKER) == 401
    await api.clock.advance(token_reviews.CACHE_SECONDS + 1)
    for number in range(int(CLIENT.burst)):
        assert await refused(tokens, make_token(f"{number}")) == 401
    assert await refused(tokens, task) == 503


def test_clients_of_a_proxy_share_its_reviews_and_leave_some_to_others() -> None:
    rates = ReviewRates()
    taken = sum(rates.take(RequestOrigin("proxy", f"10.0.0.{number % 50}"), 0.0) for number in range(2000))
    assert PEER.burst - PEER.reserved <= taken < PEER.burst + 1
    assert rates.take(RequestOrigin("another"), 0.0)


def test_many_addresses_leave_reviews_to_quiet_ones() -> None:
    rates = ReviewRates()
    taken = sum(rates.take(RequestOrigin(f"10.0.0.{number % 10}"), 0.0) for number in range(5000))
    assert taken <= TOTAL.burst - TOTAL.reserved
    assert rates.take(RequestOrigin("another"), 0.0)
    assert rates.take(RequestOrigin("10.0.0.1"), 10.0)


def test_a_namespace_pushes_out_only_its_own_known_tokens() -> None:
    known = KnownTokens(of_owner=3, total=5)
    known.add(b"mine", "team", 0.0)
    for number in range(10):
        known.add(b"%d" % number, "crowd", 0.0)
        known.add(b"x%d" % number, "crowd-2", 0.0)
    assert known.contains(b"mine", 1.0)
    assert not known.contains(b"0", 1.0)
    assert not known.contains(b"mine", LATER)
