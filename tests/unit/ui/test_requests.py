"""What the page's server lets through: hosts, sites, CSRF tokens, and the headers of each response."""

import io

import pytest
from torpor_ui.http.security import CSRF_HEADER
from torpor_ui.http.static_files import FOLDER
from torpor_ui.sessions.local import LocalLogin
from torpor_ui.sessions.pasted import PastedTokenLogin
from torpor_ui.sessions.sealed_cookie import SealedCookie
from torpor_ui.sessions.secret import ServerSecret

from tests.support.made_up_cluster import MadeUpApi
from tests.support.page_server.browser import Browser, endpoint, new_browser, opened_page, served_page

pytestmark = pytest.mark.attack


async def test_a_name_that_was_rebound_to_the_server_gets_nothing(page: Browser) -> None:
    for host in ("evil.example.org", "127.0.0.1", "127.0.0.1:1", "localhost"):
        assert await page.status("GET", "api/session", headers={"Host": host}) == 403
        assert await page.status("GET", "", headers={"Host": host}) == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example.org"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
    ],
)
async def test_a_page_of_another_site_reads_nothing(page: Browser, headers: dict[str, str]) -> None:
    assert await page.status("GET", "api/session", headers=headers) == 403


async def test_a_request_that_acts_needs_origin_and_csrf_token(page: Browser) -> None:
    good = page.headers()
    for wrong in ({}, {"Origin": page.origin}, {CSRF_HEADER: page.csrf}, {**good, CSRF_HEADER: "é"}):
        assert await page.status("DELETE", "api/session", headers=wrong) == 403
    assert await page.status("DELETE", "api/session", headers=good) == 200
    assert (await page.get("api/session"))["login"] is False


async def test_no_page_may_show_this_one_in_a_frame(page: Browser) -> None:
    for path in ("", "api/session", "runs/of/a/view", "api/none"):
        async with page.session.get(f"{page.url}/{path}") as response:
            policy = response.headers["Content-Security-Policy"]
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            assert response.headers["Referrer-Policy"] == "no-referrer"


async def test_the_link_works_once_and_says_where_the_next_one_is(cluster: MadeUpApi) -> None:
    links: list[str] = []
    logins: list[LocalLogin] = []

    def make(origin: str) -> LocalLogin:
        logins.append(LocalLogin(origin, links.append))
        return logins[0]

    async with served_page(endpoint(cluster, "admin-token"), make) as first, new_browser(first.url) as thief:
        link = logins[0].link
        prefetch = {"Sec-Purpose": "prefetch;prerender"}
        async with thief.session.get(link, headers=prefetch) as response:
            assert response.status == 403
        async with first.session.get(link) as response:
            assert response.status == 200
        async with thief.session.get(link) as response:
            assert (response.status, (await response.json())["reason"]) == (403, "LinkUsed")
        assert (await thief.get("api/session"))["login"] is False
        assert await thief.status("GET", "api/runs") == 401
        assert (await first.get("api/session"))["login"] is True
        assert links == [logins[0].link]


async def test_a_made_up_link_does_not_use_up_the_real_one(cluster: MadeUpApi) -> None:
    links: list[str] = []
    logins: list[LocalLogin] = []

    def make(origin: str) -> LocalLogin:
        logins.append(LocalLogin(origin, links.append))
        return logins[0]

    async with served_page(endpoint(cluster, "admin-token"), make) as browser:
        for _ in range(100):
            assert await browser.status("GET", "login?token=made-up") == 403
        assert links == []
        async with browser.session.get(logins[0].link) as response:
            assert response.status == 200


async def test_the_cookie_is_strict_and_no_script_reads_it(cluster: MadeUpApi) -> None:
    async with opened_page(endpoint(cluster, "admin-token")) as browser:
        [cookie] = list(browser.session.cookie_jar)
        assert (cookie["samesite"], cookie["httponly"], cookie["path"]) == ("Strict", True, "/")


async def test_a_page_that_is_read_only_refuses_every_act(cluster: MadeUpApi) -> None:
    async with opened_page(endpoint(cluster, "admin-token"), read_only=True) as browser:
        url, headers = f"{browser.url}/api/acts/retry", browser.headers()
        async with browser.session.post(url, headers=headers, json={}) as response:
            assert (response.status, (await response.json())["reason"]) == (403, "ReadOnly")


@pytest.mark.parametrize("path", ["../../etc/passwd", "%2e%2e/%2e%2e/errors.py", "assets/../../errors.py", "//evil/x"])
async def test_no_path_leads_to_a_file_outside_of_the_bundle(page: Browser, path: str) -> None:
    async with page.session.get(f"{page.url}/{path}") as response:
        assert "CamelCase" not in await response.text()


async def test_browsers_keep_assets_and_ask_for_the_page_each_time(page: Browser) -> None:
    asset = next((FOLDER / "assets").iterdir()).name
    paths = [(f"assets/{asset}", "public, max-age=31536000, immutable"), ("icon.svg", "no-cache"), ("runs", "no-cache")]
    for path, caching in paths:
        async with page.session.get(f"{page.url}/{path}") as response:
            assert (response.status, response.headers["Cache-Control"]) == (200, caching)
    async with page.session.get(f"{page.url}/assets/page-OLD.js") as response:
        assert response.status == 404
        assert "immutable" not in response.headers["Cache-Control"]


async def test_a_body_of_any_size_and_shape_is_refused(page: Browser) -> None:
    url = f"{page.url}/api/session"
    for body in (b"{", b"[]", b"[" * 100_000, b"{}" * 600_000):
        headers = {**page.headers(), "Content-Type": "application/json"}
        async with page.session.post(url, data=io.BytesIO(body), headers=headers) as response:
            assert response.status in {400, 413}


async def test_a_page_below_a_path_is_served_there_and_nowhere_else(cluster: MadeUpApi) -> None:
    def make(_: str) -> PastedTokenLogin:
        secret = ServerSecret()
        return PastedTokenLogin(SealedCookie(secret=secret, name="s", path="/team/page", secure=False, seconds=60))

    async with served_page(endpoint(cluster, None), make, base="/team/page") as browser:
        async with browser.session.get(f"{browser.url}/runs/live/data/x") as response:
            assert '<base href="/team/page/">' in await response.text()
        assert (await browser.get("api/session"))["login"] is False
        assert await browser.status("GET", "api/runs") == 401
        for path in ("/", "/api/session", "/team/pages", "/team/page/../page/api/runs"):
            async with browser.session.get(f"{browser.origin}{path}") as response:
                assert response.status in {401, 404}
