"""The API server rejects retries that cannot work: a longest pause below the first, rules without a limit."""

from typing import Any

import pytest

from tests.integration.conftest import Server
from tests.support.manifests import manifest


def workflow(**retries: Any) -> dict[str, Any]:
    task = {"name": "a", "python": "m:f", "image": "x", "retries": {"limit": 1, **retries}}
    spec = {"tasks": [task]}
    return manifest("Workflow", "run", spec)


@pytest.mark.parametrize(
    "retries",
    [
        {"delay": "2h", "maxDelay": "1h"},
        {"delay": "1d", "maxDelay": "23h59m"},
        {"delay": "1d12h", "maxDelay": "1d"},
        {"maxDelay": "9s"},
    ],
)
def test_a_longest_pause_below_the_delay_is_rejected(server: Server, namespace: str, retries: dict[str, Any]) -> None:
    answer = server.create("workflows", namespace, workflow(**retries))
    assert answer.status == 422, answer.message
    shown = (
        f"task a: retries.maxDelay {retries['maxDelay']} is shorter than retries.delay {retries.get('delay', '10s')}"
    )
    assert shown in answer.message


@pytest.mark.parametrize("retries", [{"delay": "2h"}, {"delay": "2h", "maxDelay": "2h"}, {"delay": "3d"}, {}])
def test_a_long_delay_needs_no_longest_pause(server: Server, namespace: str, retries: dict[str, Any]) -> None:
    stored = server.create("workflows", namespace, workflow(**retries)).expect(201)
    assert stored["spec"]["tasks"][0]["retries"].get("maxDelay") == retries.get("maxDelay")


@pytest.mark.parametrize("rule", [{"when": "exitCode == 1"}, {"for": "1h"}])
def test_rules_of_retries_need_a_limit(server: Server, namespace: str, rule: dict[str, str]) -> None:
    answer = server.create("workflows", namespace, workflow(**rule, limit=0))
    assert answer.status == 422
    assert "task a: retries.when and retries.for need retries.limit" in answer.message
    server.create("workflows", namespace, workflow(**rule, limit=-1)).expect(201)


def test_a_hook_cannot_have_may_fail(server: Server, namespace: str) -> None:
    body = workflow()
    body["spec"]["tasks"].append({"name": "b", "python": "m:f", "image": "x", "hook": "end", "mayFail": True})
    answer = server.create("workflows", namespace, body)
    assert answer.status == 422
    assert "task b: a hook does not change the outcome of the run; remove mayFail" in answer.message
