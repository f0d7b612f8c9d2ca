"""Dialogs of acts: they show what an act will do and its command, say why one may not, and report what came of it."""

import pytest
from playwright.async_api import expect

from tests.browser import answers
from tests.browser.conftest import OpenView
from tests.support.browser import accessibility
from tests.support.browser.page import serve_page
from tests.support.made_up_cluster import MadeUpApi
from tests.support.made_up_cluster.content import BIG, NAMESPACES
from tests.support.page_server.browser import endpoint

pytestmark = pytest.mark.asyncio(loop_scope="session")
RUN = f"run/live/data/{BIG}/grid"


async def test_an_act_first_shows_what_it_will_do_and_the_command(open_view: OpenView) -> None:
    replaced = {
        "acts/retry/preview": answers.PREVIEW,
        "acts/retry": {"done": ["Two instances run again."], "failed": []},
    }
    window = await open_view(RUN, answers=replaced)
    await window.button("Retry").click()
    dialog = window.page.get_by_role("dialog")
    await expect(dialog).to_contain_text("report runs again, since it depends on load[3].")
    await expect(dialog).to_contain_text("The result of load[3] is deleted.")
    await expect(dialog).to_contain_text("torpor retry big-load load/3")
    assert [path for path, _ in window.sent] == ["acts/retry/preview"]
    await dialog.get_by_role("button", name="Run again").click()
    await expect(dialog).to_contain_text("Two instances run again.")


async def test_escape_changes_nothing_and_gives_the_focus_back(open_view: OpenView) -> None:
    window = await open_view(RUN, answers={"acts/retry/preview": answers.PREVIEW})
    await window.button("Retry").click()
    await expect(window.page.get_by_role("dialog")).to_contain_text("torpor retry")
    await window.page.keyboard.press("Escape")
    await expect(window.page.get_by_role("dialog")).to_have_count(0)
    await expect(window.button("Retry")).to_be_focused()
    assert [path for path, _ in window.sent] == ["acts/retry/preview"]


async def test_a_part_that_failed_is_shown_beside_what_was_done(open_view: OpenView) -> None:
    outcome = {"done": ["load[1] runs again."], "failed": [{"key": "load/2", "message": "the run has ended"}]}
    window = await open_view(RUN, answers={"acts/retry/preview": answers.PREVIEW, "acts/retry": outcome})
    await window.button("Retry").click()
    await window.button("Run again").click()
    dialog = window.page.get_by_role("dialog")
    await expect(dialog).to_contain_text("One part failed")
    await expect(dialog).to_contain_text("the run has ended")


async def test_params_are_a_typed_form_that_tells_what_is_wrong(open_view: OpenView) -> None:
    preview = answers.PREVIEW | {"command": "torpor resubmit big-load"}
    window = await open_view(RUN, answers={"templates": answers.TEMPLATES, "acts/resubmit/preview": preview})
    await window.button("Run with other params").click()
    dialog = window.page.get_by_role("dialog")
    day = dialog.get_by_label("day")
    await expect(day).to_have_value("2026-11-20")
    await day.fill("tomorrow")
    await expect(dialog.get_by_role("alert")).to_contain_text("does not match the pattern")
    await expect(dialog.get_by_role("button", name="Start the run")).to_have_attribute("aria-disabled", "true")
    await day.fill("2026-11-21")
    await dialog.get_by_label("mode").select_option("full")
    await dialog.get_by_label("limit").fill("50")
    await dialog.get_by_label("regions").fill('["eu"]')
    await expect(dialog).to_contain_text("torpor resubmit big-load")
    await expect(dialog.get_by_role("button", name="Start the run")).not_to_have_attribute("aria-disabled", "true")
    params = {"day": "2026-11-21", "mode": "full", "limit": 50, "regions": ["eu"]}
    assert window.sent[-1][1]["params"] == params
    try:
        assert await accessibility.violations(window.page) == []
    except accessibility.NoAxeError as error:
        pytest.skip(str(error))


async def test_a_button_that_the_user_may_not_use_says_why(cluster: MadeUpApi, open_view: OpenView) -> None:
    async with serve_page(endpoint(cluster, "ann-token"), namespaces=NAMESPACES[:1]) as page:
        window = await open_view(RUN, of=page)
        retry = window.button("Retry")
        await expect(retry).to_have_attribute("aria-disabled", "true")
        assert "may not" in (await retry.get_attribute("title") or "")
        await retry.click(force=True)
        await expect(window.page.get_by_role("dialog")).to_have_count(0)
        await window.page.close()


async def test_a_page_that_is_read_only_offers_no_act(cluster: MadeUpApi, open_view: OpenView) -> None:
    async with serve_page(endpoint(cluster, "admin-token"), namespaces=NAMESPACES, read_only=True) as page:
        window = await open_view(RUN, of=page)
        await expect(window.button("Retry")).to_have_attribute("title", "Retry: This page is read only.")
        await window.page.close()


async def test_an_approval_is_answered_from_the_inbox(open_view: OpenView) -> None:
    preview = answers.PREVIEW | {"effects": ["ask is approved."], "warnings": []}
    replaced = answers.LISTS | {"acts/approve/preview": preview, "acts/approve": {"done": ["Approved."], "failed": []}}
    window = await open_view("inbox", answers=replaced)
    await window.seen("Close the ledger of October?")
    await window.button("Approve").click()
    dialog = window.page.get_by_role("dialog")
    await dialog.get_by_label("Note").fill("go ahead")
    await expect(dialog).to_contain_text("ask is approved.")
    await expect(dialog.get_by_role("button", name="Approve")).not_to_have_attribute("aria-disabled", "true")
    await dialog.get_by_role("button", name="Approve").click()
    await expect(dialog).to_contain_text("Approved.")
    body = {"runs": ["live/data/big-load"], "tasks": ["ask"], "note": "go ahead"}
    assert ("acts/approve", body) in window.sent


async def test_a_backfill_asks_for_a_period_and_previews_its_ticks(open_view: OpenView) -> None:
    schedule = answers.SCHEDULE | {"acts": {}}
    preview = answers.PREVIEW | {"effects": ["Creates 3 runs."], "command": "torpor backfill create nightly-census"}
    replaced = answers.LISTS | {"schedules/data/nightly-census": schedule, "acts/backfill/preview": preview}
    window = await open_view("schedules/data/nightly-census", answers=replaced)
    await window.button("Backfill").click()
    dialog = window.page.get_by_role("dialog")
    await dialog.get_by_label("From").fill("2026-11-01T00:00")
    await dialog.get_by_label("To").fill("2026-11-04T00:00")
    await expect(dialog).to_contain_text("Creates 3 runs.")
    _, body = window.sent[-1]
    assert body == {
        "schedule": "data/nightly-census",
        "from": "2026-10-31T23:00:00.000Z",
        "to": "2026-11-03T23:00:00.000Z",
        "rerun": "missing",
        "concurrency": 1,
    }
