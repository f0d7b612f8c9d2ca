"""The logins of a page in a cluster: a pasted token, a proxy, and OIDC with a made provider."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_network
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from torpor_ui.http.security import CSRF_HEADER
from torpor_ui.sessions.oidc import OidcLogin, view_of
from torpor_ui.sessions.oidc_provider import OidcClient, OidcProvider
from torpor_ui.sessions.pasted import PastedTokenLogin
from torpor_ui.sessions.proxy import ProxyLogin
from torpor_ui.sessions.sealed_cookie import SealedCookie
from torpor_ui.sessions.secret import ServerSecret
from torpor_ui.sessions.session import Cookie

from tests.support.made_up_cluster import MadeUpApi, User
from tests.support.page_server.browser import Browser, endpoint, new_browser, served_page
from tests.support.page_server.oidc_server import CLIENT, OidcServer, serve_oidc

SECRET = ServerSecret(b"0123456789abcdef")


def sealed(name: str, **more: str) -> SealedCookie:
    return SealedCookie(secret=SECRET, name=name, path="", secure=False, seconds=3600, **more)


@asynccontextmanager
async def pasting(cluster: MadeUpApi) -> AsyncIterator[Browser]:
    login = PastedTokenLogin(sealed("session"))
    async with served_page(endpoint(cluster, None), lambda _: login, secret=SECRET) as browser:
        await browser.open()
        yield browser


async def paste(browser: Browser, token: str) -> int:
    body = {"token": token}
    async with browser.session.post(f"{browser.url}/api/session", json=body, headers=browser.headers()) as response:
        if response.status == 200:
            browser.csrf = (await response.json())["csrf"]
        return response.status


async def test_a_pasted_token_is_the_session_until_the_logout(cluster: MadeUpApi) -> None:
    async with pasting(cluster) as browser:
        assert await paste(browser, "admin-token") == 200
        assert (await browser.open())["user"] == "admin"
        assert await browser.status("DELETE", "api/session", headers=browser.headers()) == 200
        assert (await browser.open())["login"] is False


@pytest.mark.attack
async def test_a_token_that_the_api_server_refuses_starts_no_session(cluster: MadeUpApi) -> None:
    async with pasting(cluster) as browser:
        for token in ("wrong", "", "two words", "é", "admin-token\r\nX: y"):
            assert await paste(browser, token) in {400, 401}
        assert (await browser.open())["login"] is False


@pytest.mark.attack
async def test_cookies_that_others_made_or_that_are_of_other_kinds_are_none(cluster: MadeUpApi) -> None:
    async with pasting(cluster) as browser:
        other = ServerSecret(b"another secret!!").seal({"id": "1", "token": "admin-token", "cookie": "session"})
        of_login = sealed("login").write({"id": "1", "token": "admin-token"})[0].value
        for value in ("x", other, of_login, other * 3):
            assert await browser.status("GET", "api/runs?ns=data", cookies={"session": value}) == 401


def test_a_long_token_takes_several_cookies_and_a_longer_one_is_refused() -> None:
    import secrets  # noqa: PLC0415 - a token that does not compress

    cookie = sealed("session")
    written = cookie.write({"token": secrets.token_urlsafe(6000)})
    assert [bool(each.value) for each in written].count(True) > 1
    assert all(len(each.value) < 4000 for each in written)
    with pytest.raises(Exception, match="too long"):
        cookie.write({"token": secrets.token_urlsafe(20_000)})


@asynccontextmanager
async def behind_proxy(cluster: MadeUpApi, network: str = "127.0.0.0/8") -> AsyncIterator[Browser]:
    login = ProxyLogin([ip_network(network)], "X-Token", Cookie(name="browser", secure=False))
    async with served_page(endpoint(cluster, None), lambda _: login, secret=SECRET) as browser:
        yield browser


async def test_a_proxy_logs_in_by_its_header(cluster: MadeUpApi) -> None:
    async with behind_proxy(cluster) as browser:
        header = {"X-Token": "Bearer admin-token"}
        assert (await browser.get("api/session", headers=header))["user"] == "admin"
        assert (await browser.get("api/session"))["login"] is False


@pytest.mark.attack
async def test_the_header_of_the_proxy_counts_only_from_its_addresses(cluster: MadeUpApi) -> None:
    async with behind_proxy(cluster, "10.0.0.0/8") as browser:
        assert await browser.status("GET", "api/session", headers={"X-Token": "admin-token"}) == 403
        assert not any("admin" in request for request in cluster.requests)
    async with behind_proxy(cluster) as browser:
        both = [("X-Token", "admin-token"), ("X-Token", "other")]
        assert await browser.status("GET", "api/session", headers=both) == 403


@pytest.mark.attack
async def test_behind_a_proxy_the_csrf_token_belongs_to_one_browser(cluster: MadeUpApi) -> None:
    async with behind_proxy(cluster) as browser, new_browser(browser.url) as other:
        token = {"X-Token": "admin-token"}
        csrf = (await browser.get("api/session", headers=token))["csrf"]
        await other.get("api/session", headers=token)
        stolen = {**token, "Origin": browser.origin, CSRF_HEADER: csrf}
        assert await other.status("DELETE", "api/session", headers=stolen) == 403
        assert await browser.status("DELETE", "api/session", headers=stolen) == 200


class OidcPage:
    def __init__(self, browser: Browser, provider: OidcServer, login: OidcLogin) -> None:
        self.browser, self.provider, self.login = browser, provider, login

    async def log_in(self, view: str = "") -> str:
        """Log in, and return where that leads."""
        async with self.browser.session.get(f"{self.browser.url}/oidc/login", params={"next": view}) as response:
            assert response.status == 200, await response.text()
            return str(response.url)


@asynccontextmanager
async def with_oidc(cluster: MadeUpApi) -> AsyncIterator[OidcPage]:
    def accept(token: str) -> None:
        cluster.users[token] = User(name="ann", reads={"data"})

    logins: list[OidcLogin] = []
    async with serve_oidc(OidcServer(accept=accept)) as provider:

        def make(origin: str) -> OidcLogin:
            client = OidcClient(issuer=provider.url, client_id=CLIENT)
            began = sealed("login", same_site="Lax")
            logins.append(OidcLogin(OidcProvider(client), origin, sealed("session"), began))
            return logins[0]

        async with served_page(endpoint(cluster, None), make, secret=SECRET) as browser:
            yield OidcPage(browser, provider, logins[0])


async def test_a_login_by_oidc_leads_to_the_view_that_was_wanted(cluster: MadeUpApi) -> None:
    async with with_oidc(cluster) as page:
        assert await page.log_in("runs/live/data/x?tab=grid") == f"{page.browser.url}/runs/live/data/x?tab=grid"
        assert (await page.browser.open())["user"] == "ann"


async def test_responses_of_a_provider_may_arrive_in_pieces(cluster: MadeUpApi) -> None:
    async with with_oidc(cluster) as page:
        page.provider.slow = True
        assert await page.log_in("runs") == f"{page.browser.url}/runs"
        assert (await page.browser.open())["user"] == "ann"


async def test_a_token_that_expires_is_renewed_once_for_all_requests(cluster: MadeUpApi) -> None:
    async with with_oidc(cluster) as page:
        page.provider.lifetime = 30.0
        await page.log_in()
        page.provider.lifetime = 3600.0
        await asyncio.gather(*(page.browser.get("api/session") for _ in range(10)))
        assert page.provider.refreshes == 1
        assert (await page.browser.get("api/session"))["login"] is True


async def test_a_provider_that_is_away_does_not_end_a_valid_session(cluster: MadeUpApi) -> None:
    async with with_oidc(cluster) as page:
        page.provider.lifetime = 30.0
        await page.log_in()
        page.provider.away = True
        assert (await page.browser.get("api/session"))["login"] is True


@pytest.mark.attack
async def test_a_copy_of_the_cookie_is_no_session_after_the_logout(cluster: MadeUpApi) -> None:
    async with with_oidc(cluster) as page:
        await page.log_in()
        await page.browser.open()
        copy = {each.key: each.value for each in page.browser.session.cookie_jar}
        assert await page.browser.status("DELETE", "api/session", headers=page.browser.headers()) == 200
        assert await page.browser.status("GET", "api/runs?ns=data", cookies=copy) == 401


@pytest.mark.attack
@pytest.mark.parametrize(
    "claims",
    [
        *({"nonce": "other"}, {"iss": "https://evil.example.org"}, {"exp": 1.0}, {"exp": "never"}),
        *({"aud": "other"}, {"aud": [CLIENT, "other"]}, {"aud": []}),
    ],
)
async def test_a_token_for_something_else_is_no_login(cluster: MadeUpApi, claims: dict[str, object]) -> None:
    async with with_oidc(cluster) as page:
        page.provider.claims = claims
        assert await page.browser.status("GET", "oidc/login") == 401
        assert (await page.browser.open())["login"] is False


@pytest.mark.attack
async def test_a_login_that_another_browser_began_does_not_end_here(cluster: MadeUpApi) -> None:
    async with with_oidc(cluster) as page, new_browser(page.browser.url) as victim:
        async with page.browser.session.get(f"{page.browser.url}/oidc/login", allow_redirects=False) as response:
            authorize = response.headers["Location"]
        async with page.browser.session.get(authorize, allow_redirects=False) as response:
            callback = response.headers["Location"]
        async with victim.session.get(callback) as response:
            assert response.status == 401
        assert (await victim.open())["login"] is False


@pytest.mark.attack
async def test_a_code_is_worth_nothing_without_the_verifier(cluster: MadeUpApi) -> None:
    async with with_oidc(cluster) as page:
        async with page.browser.session.get(f"{page.browser.url}/oidc/login", allow_redirects=False) as response:
            query = parse_qs(urlsplit(response.headers["Location"]).query)
        assert query["code_challenge_method"] == ["S256"]
        async with aiohttp.ClientSession() as thief:
            form = {"grant_type": "authorization_code", "code": "made-up", "code_verifier": "guess"}
            async with thief.post(f"{page.provider.url}/token", data=form) as response:
                assert response.status == 400


@pytest.mark.attack
@pytest.mark.parametrize(
    "wanted",
    [
        *("https://evil.example.org", "//evil.example.org", "/\\evil.example.org", "@evil.example.org"),
        *("javascript:x", "..//..", "/%0d%0aSet-Cookie:x=y", "x\r\nSet-Cookie: a=b", "é" * 1000),
    ],
)
async def test_a_login_leads_to_no_other_site(cluster: MadeUpApi, wanted: str) -> None:
    async with with_oidc(cluster) as page:
        assert (await page.log_in(wanted)).startswith(f"{page.browser.url}/")
    assert "\r" not in view_of(wanted)
