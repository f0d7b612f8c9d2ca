"""kopf and the client speak to the same cluster."""

from collections.abc import Mapping
from typing import Any

import kopf
import pytest
from torpor_api.client.api import Api
from torpor_operator.controller import kopf_handlers
from torpor_operator.controller.cache import ClusterCache

from tests.support.fake_api import FakeApi, VirtualClock


@pytest.mark.parametrize(("named", "asked"), [("/some/kubeconfig", ["kubeconfig"]), ("", ["account", "kubeconfig"])])
async def test_a_kubeconfig_that_is_named_comes_before_the_pods_service_account(
    monkeypatch: pytest.MonkeyPatch, named: str, asked: list[str]
) -> None:
    said: list[str] = []
    monkeypatch.setenv("KUBECONFIG", named)
    monkeypatch.setattr(kopf, "login_with_kubeconfig", lambda **_: said.append("kubeconfig"))
    monkeypatch.setattr(kopf, "login_with_service_account", lambda **_: said.append("account"))
    clock = VirtualClock()
    cache = ClusterCache(
        Api(FakeApi(clock), clock), enqueue=lambda _: None, on_orphaned_pod=lambda _: None, jitter=lambda: 0.5
    )
    registry = kopf.OperatorRegistry()
    kopf_handlers.register(registry, cache, stop=_stop, report_unreadable=_report)
    login = next(handler.fn for handler in registry._activities.get_all_handlers() if handler.id.endswith("login"))
    await login()  # type: ignore[call-arg, misc]
    assert said == asked


async def _stop() -> None:
    return None


async def _report(body: Mapping[str, Any], trouble: str) -> None:
    return None
