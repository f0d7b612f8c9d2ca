"""Acts of callers who may not, of other sites, and of malformed requests."""

from typing import Any

import pytest
from torpor_ui.acts.table import ACTS

from tests.support.made_up_cluster import MadeUpApi
from tests.support.made_up_cluster.users import User
from tests.support.page_server.browser import Browser, endpoint, opened_page
from tests.unit.ui.acts.act_objects import RUN, act, current, schedule, template


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("cancel", {"runs": "live/data/etl"}),
        ("cancel", {"runs": ["live/data"]}),
        ("cancel", {"runs": ["live/data/../secrets"]}),
        ("cancel", {"runs": ["other/data/etl"]}),
        ("cancel", {"runs": [f"live/data/r{number}" for number in range(101)]}),
        ("clear", {"runs": [RUN]}),
        ("clear", {"runs": [RUN], "tasks": ["Load"]}),
        ("clear", {"runs": [RUN], "tasks": ["load/x"]}),
        ("submit", {"namespace": "data", "template": "../x"}),
        ("submit", {"namespace": "data", "template": "ingest", "params": [1]}),
        ("backfill", {"schedule": "data/nightly", "from": "2026-11-01", "to": "2026-11-02", "concurrency": 1e9}),
        ("backfill", {"schedule": "data/nightly", "from": "x", "to": "y"}),
        ("backfill", {"schedule": "nightly"}),
    ],
)
@pytest.mark.attack
async def test_a_malformed_request_changes_nothing(
    cluster: MadeUpApi, page: Browser, run: Any, name: str, body: dict[str, Any]
) -> None:
    schedule(cluster)
    template(cluster)
    for path in (f"{name}/preview", name):
        problem = await act(page, path, **body)
        assert problem["status"] in {400, 422}, problem
    assert not [request for request in cluster.requests if " patch " in request or " delete " in request]


async def test_a_reader_sees_why_each_button_is_disabled(cluster: MadeUpApi) -> None:
    cluster.users["reader-token"] = User(name="rita", reads={"data"})
    async with opened_page(endpoint(cluster, "reader-token")) as page:
        access = (await page.get("api/access?ns=data"))["acts"]
        assert set(access) == set(ACTS)
        assert not any(entry["allowed"] for entry in access.values())
        assert access["retry"]["reason"] == ("you may not patch workflows in namespace data; ask for ClusterRole edit")
        assert "torpor-approve" in access["approve"]["reason"]


@pytest.mark.attack
async def test_a_reader_who_acts_nevertheless_gets_the_refusal_of_the_api_server(cluster: MadeUpApi, run: Any) -> None:
    cluster.users["reader-token"] = User(name="rita", reads={"data"})
    async with opened_page(endpoint(cluster, "reader-token")) as page:
        preview = await act(page, "cancel/preview", runs=[RUN])
        assert (preview["allowed"], "patch workflows" in preview["reason"]) == (False, True)
        outcome = await act(page, "cancel", runs=[RUN])
        assert "cannot patch" in outcome["failed"][0]["message"]
        assert "cancel" not in current(cluster)["spec"]


@pytest.mark.attack
async def test_a_read_only_page_refuses_every_act(cluster: MadeUpApi, run: Any) -> None:
    async with opened_page(endpoint(cluster, "admin-token"), read_only=True) as page:
        for name in ACTS:
            assert (await act(page, name, runs=[RUN]))["reason"] == "ReadOnly"
        access = (await page.get("api/access?ns=data"))["acts"]
        assert access["cancel"]["reason"].startswith("this page is read-only")


@pytest.mark.attack
async def test_an_act_of_another_site_is_refused(page: Browser) -> None:
    path = "api/acts/cancel"
    assert await page.status("POST", path, json={}, headers={"Origin": "https://evil.example"}) == 403
    assert await page.status("POST", path, json={}, headers={"Origin": page.origin}) == 403
    assert await page.status("POST", path, json={}) == 403
