"""The token of a session is renewed by one request at a time."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from torpor_ui.sessions.oidc import OidcLogin

EXPIRES = 1_000.0


class SlowProvider:
    """It has no new token, and counts the requests that it answers at the same time."""

    def __init__(self) -> None:
        self.active = self.most = self.renewals = 0

    async def renew(self, _token: str) -> None:
        self.renewals += 1
        self.active += 1
        self.most = max(self.most, self.active)
        for _ in range(5):
            await asyncio.sleep(0)
        self.active -= 1


async def test_a_request_that_comes_while_others_wait_waits_as_well() -> None:
    content = {"id": "s", "it": "token", "rt": "refresh", "exp": EXPIRES}
    cookie, provider = cast("Any", SimpleNamespace(read=lambda _request: content)), SlowProvider()
    login = OidcLogin(cast("Any", provider), "https://page", cookie, cookie, now=lambda: EXPIRES - 1)
    first, second = (asyncio.create_task(login.session(cast("Any", None))) for _ in range(2))
    await first
    await asyncio.gather(second, login.session(cast("Any", None)))
    assert (provider.renewals, provider.most) == (3, 1)
