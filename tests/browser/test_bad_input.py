"""What hostile programs, templates and clusters put into the page: text stays text, and trouble is said in words."""

from typing import Any

import pytest
from playwright.async_api import expect
from torpor_kubernetes.client.resources import WORKFLOWS

from tests.browser import answers
from tests.browser.conftest import OpenView
from tests.support.browser.page import serve_page
from tests.support.made_up_cluster import MadeUpApi, User, runs
from tests.support.made_up_cluster.content import BIG, NAMESPACES
from tests.support.page_server.browser import endpoint

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.attack]
MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
BIDI = "safe\u202egnp.exe\u2066\x1b[31m\u0000"
HOSTILE = f"{MARKUP}{BIDI}"


def hostile(value: Any) -> Any:
    """The same answer with hostile text wherever a person's text is."""
    if isinstance(value, dict):
        return {name: hostile_field(name, each) for name, each in value.items()}
    return [hostile(each) for each in value] if isinstance(value, list) else value


def hostile_field(name: str, value: Any) -> Any:
    free = {"message", "question", "reason", "subject", "text", "class", "description", "resource", "template"}
    if name in free and isinstance(value, str):
        return HOSTILE
    return [HOSTILE] if name in {"approvers", "notes", "warnings", "effects"} else hostile(value)


@pytest.mark.parametrize("path", ["schedules", "schedules/data/nightly-census", "inbox", "triggerers", "cluster"])
async def test_markup_in_answers_stays_text_and_hidden_characters_show(path: str, open_view: OpenView) -> None:
    window = await open_view(path, answers=hostile(answers.LISTS))
    await expect(window.page.locator("main, .view").get_by_text("U+202E").first).to_be_attached()
    assert await window.page.locator("img[src='x'], main script").count() == 0
    assert "owned" not in await window.page.title()
    assert "\u202e" not in await window.page.inner_text("body")


async def test_a_preview_with_markup_stays_text(open_view: OpenView) -> None:
    preview = answers.PREVIEW | {
        "effects": [HOSTILE] * 200,
        "warnings": [HOSTILE],
        "command": f"torpor retry '{MARKUP}'",
    }
    window = await open_view(f"run/live/data/{BIG}/grid", answers={"acts/retry/preview": preview})
    await window.button("Retry").click()
    await expect(window.page.get_by_role("dialog")).to_contain_text("<img src=x")
    assert await window.page.locator("img[src='x']").count() == 0
    assert "owned" not in await window.page.title()


async def test_a_graph_of_hostile_names_is_drawn_as_text(cluster: MadeUpApi, open_view: OpenView) -> None:
    tasks = [{"name": HOSTILE, "python": "m:f", "group": MARKUP}, {"name": "b", "python": "m:f", "after": [HOSTILE]}]
    spec = {"tasks": tasks, "groups": [{"name": MARKUP}]}
    cluster.server.put(WORKFLOWS, runs.workflow("data", "hostile-graph", spec, {}))
    window = await open_view("run/live/data/hostile-graph/graph")
    await expect(window.page.locator(".graph-box").first).to_contain_text("<img")
    assert await window.page.locator("img[src='x']").count() == 0
    assert "owned" not in await window.page.title()


async def test_a_graph_whose_tasks_form_a_circle_is_drawn(cluster: MadeUpApi, open_view: OpenView) -> None:
    tasks = [{"name": "a", "python": "m:f", "after": ["c"]}, {"name": "b", "python": "m:f", "after": ["a"]}]
    spec = {"tasks": [*tasks, {"name": "c", "python": "m:f", "after": ["b"]}]}
    cluster.server.put(WORKFLOWS, runs.workflow("data", "circle-graph", spec, {}))
    window = await open_view("run/live/data/circle-graph/graph")
    await expect(window.page.locator(".graph-box")).to_have_count(3)


@pytest.mark.parametrize("path", ["schedules", "inbox", "triggerers", "cluster", f"run/live/data/{BIG}/grid"])
async def test_a_token_that_expires_in_mid_view_leads_to_a_login(
    path: str, cluster: MadeUpApi, open_view: OpenView
) -> None:
    cluster.users["short-token"] = User(name="bob", reads={"*"})
    async with serve_page(endpoint(cluster, "short-token"), namespaces=NAMESPACES) as page:
        window = await open_view(path, of=page)
        await window.page.locator("main").first.wait_for()
        del cluster.users["short-token"]
        await window.page.reload()
        await expect(window.page.get_by_role("alert").or_(window.page.get_by_role("heading"))).not_to_have_count(0)
        await window.page.close()


async def test_a_namespace_that_the_user_may_not_read_is_said_so(cluster: MadeUpApi, open_view: OpenView) -> None:
    async with serve_page(endpoint(cluster, "ann-token"), namespaces=("data", "ml")) as page:
        window = await open_view("schedules?ns=ml", of=page)
        await expect(window.page.locator(".problem, .note, .empty").first).to_be_visible()
        await window.page.close()
