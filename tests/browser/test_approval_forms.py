"""The form of an approval: typed fields, options, and what the server says beside a field."""

import json
from typing import Any

import pytest
from playwright.async_api import expect
from torpor_kubernetes.client.resources import TASKRUNS

from tests.browser.conftest import OpenView
from tests.support.browser import accessibility
from tests.support.browser.page import serve_page
from tests.support.made_up_cluster import MadeUpApi, User, serve
from tests.support.page_server.browser import endpoint

pytestmark = pytest.mark.asyncio(loop_scope="session")
FORM: dict[str, Any] = {
    "subject": "Deploy 1.4",
    "question": "The tests are green. Deploy to production?",
    "fields": [
        {"name": "ticket", "description": "Number of the change", "pattern": "CHG-[0-9]+.*"},
        {"name": "percent", "type": "integer", "min": 1, "max": 100, "default": 10},
        {"name": "quiet", "type": "boolean"},
        {"name": "mode", "enum": ["fast", "safe"], "default": "safe"},
    ],
    "options": ["canary", "all", "none"],
    "multiple": True,
}


def _put(cluster: MadeUpApi) -> None:
    trigger = {"class": "approval", "kwargs": json.dumps(FORM), "waitsFor": "approval Deploy 1.4"}
    cluster.server.put(
        TASKRUNS,
        {
            "metadata": {
                "namespace": "data",
                "name": "etl-ask",
                "labels": {"torpor.dev/workflow": "etl", "torpor.dev/task": "ask"},
            },
            "spec": {"workflow": {"name": "etl", "uid": "w1"}, "task": "ask"},
            "status": {"state": "Deferred", "attempt": 1, "segment": 0, "launch": 0, "trigger": trigger},
        },
    )


async def test_an_approval_with_a_form_is_answered_in_the_inbox(open_view: OpenView) -> None:
    users = {"admin-token": User(name="ann", reads={"*"}, changes={"*"})}
    async with serve(MadeUpApi(users=users)) as cluster:
        _put(cluster)
        async with serve_page(endpoint(cluster, "admin-token"), namespaces=("data",)) as page:
            window = await open_view("inbox", of=page)
            await window.seen("Deploy to production?")
            await window.seen("ticket, percent, quiet, mode, some of canary, all, none")
            await window.button("Approve").click()
            dialog = window.page.get_by_role("dialog")
            confirm = dialog.get_by_role("button", name="Approve")
            await expect(dialog).to_contain_text("Complete the answers")
            ticket = dialog.get_by_label("ticket")
            await ticket.fill("17")
            await expect(dialog.get_by_role("alert")).to_contain_text("does not match the pattern")
            await ticket.fill("CHG-17")
            await dialog.get_by_label("percent").fill("200")
            await expect(dialog.get_by_role("alert")).to_contain_text("not within the limits")
            await dialog.get_by_label("percent").fill("25")
            await dialog.get_by_label("quiet").select_option("true")
            await expect(dialog.get_by_label("mode")).to_have_value("safe")
            await expect(confirm).to_have_attribute("aria-disabled", "true")
            await dialog.get_by_label("all").check()
            await dialog.get_by_label("canary").check()
            await expect(dialog).to_contain_text(
                "torpor approve etl/ask --field ticket=CHG-17 --field percent=25 --field quiet=true --field mode=safe "
                "--option canary --option all -n data"
            )
            await expect(confirm).not_to_have_attribute("aria-disabled", "true")
            await confirm.click()
            await expect(dialog).to_contain_text("ask of etl approved")
        annotations = cluster.server.all(TASKRUNS)[0]["metadata"]["annotations"]
    answers = {"ticket": "CHG-17", "percent": 25, "quiet": True, "mode": "safe", "options": ["canary", "all"]}
    assert json.loads(annotations["torpor.dev/approval-fields"]) == answers
    assert annotations["torpor.dev/approval"] == "approved"


async def test_what_the_server_refuses_is_beside_its_field(open_view: OpenView) -> None:
    users = {"admin-token": User(name="ann", reads={"*"}, changes={"*"})}
    async with serve(MadeUpApi(users=users)) as cluster:
        _put(cluster)
        async with serve_page(endpoint(cluster, "admin-token"), namespaces=("data",)) as page:
            window = await open_view("inbox", of=page)
            await window.button("Approve").click()
            dialog = window.page.get_by_role("dialog")
            await dialog.get_by_label("all").check()
            await dialog.get_by_label("quiet").select_option("false")
            await dialog.get_by_label("ticket").fill("CHG-17\u0007")
            alert = dialog.get_by_role("alert")
            await expect(alert).to_have_text("ticket contains a control character")
            await expect(dialog.get_by_label("ticket")).to_have_attribute("aria-invalid", "true")
            await expect(dialog.get_by_role("button", name="Approve")).to_have_attribute("aria-disabled", "true")
            await dialog.get_by_label("ticket").fill("CHG-17")
            await expect(dialog).to_contain_text("--field ticket=CHG-17")
            await expect(alert).to_have_count(0)
            assert "annotations" not in cluster.server.all(TASKRUNS)[0]["metadata"]
            try:
                assert await accessibility.violations(window.page) == []
            except accessibility.NoAxeError as error:
                pytest.skip(str(error))
