"""What the API server rejects in a Backfill: by policy torpor-backfill, and by the CRD."""

from typing import Any

import pytest

from tests.integration.conftest import Answer, Server, eventually
from tests.support.manifests import manifest

_PATH = "/apis/torpor.dev/v1alpha1/namespaces/{}/backfills/january"


def backfill(**spec: Any) -> dict[str, Any]:
    period = {"from": "2026-01-01T00:00:00Z", "to": "2026-02-01T00:00:00+01:00"}
    return manifest(
        "Backfill", "january", {"schedule": "nightly", "params": {"day": "${at}", "full": True}} | period | spec
    )


REJECTED = {
    "a param with a dash": (
        backfill(params={"my-day": 1}),
        'param "my-day" is not an identifier: use lower-case letters, digits and underscores, and begin with a letter',
    ),
    "a param named off": (
        backfill(params={"false": 1}),
        "a param has the name true or false: YAML reads an unquoted y",
    ),
    "from that is no time": (backfill(**{"from": "January"}), "spec.from"),
    "to without an offset": (backfill(to="2026-02-01T00:00:00"), "spec.to"),
    "to on 31 February": (backfill(to="2026-02-31T00:00:00Z"), "spec.to"),
    "an empty period": (backfill(to="2026-01-01T00:00:00Z"), "from must be before to"),
    "a period that ends before it begins": (backfill(to="2025-12-31T00:00:00Z"), "from must be before to"),
    "no schedule": (backfill(schedule=""), "spec.schedule"),
    "no room": (backfill(concurrency=0), "spec.concurrency"),
    "an unknown rerun": (backfill(rerun="some"), 'supported values: "missing", "failed", "all"'),
}
FIXED = {
    "params": {"day": "other"},
    "schedule": "other",
    "source": "night",
    "from": "2026-01-02T00:00:00Z",
    "to": "2026-01-02T00:00:00Z",
    "reverse": True,
    "rerun": "all",
}


@pytest.fixture
def place(server: Server, namespace: str) -> str:
    """A namespace in which the policy is in force."""
    bad = backfill(params={"my-day": 1})

    def message() -> str:
        return server.create("backfills", namespace, bad, dryRun="All").message

    eventually(lambda: "torpor-backfill" in message(), "the policy is in force")
    return namespace


def _merge(server: Server, namespace: str, spec: dict[str, Any]) -> Answer:
    path = _PATH.format(namespace)
    return server.request("PATCH", path, {"spec": spec}, content_type="application/merge-patch+json")


@pytest.mark.parametrize("case", REJECTED)
def test_a_backfill_is_rejected(server: Server, place: str, case: str) -> None:
    body, said = REJECTED[case]
    answer = server.create("backfills", place, body)
    assert answer.status == 422, answer.message
    assert answer.body["reason"] == "Invalid"
    assert said in answer.message


@pytest.mark.parametrize("field", FIXED)
def test_the_period_and_the_params_of_a_backfill_do_not_change(server: Server, place: str, field: str) -> None:
    server.create("backfills", place, backfill()).expect(201)
    answer = _merge(server, place, {field: FIXED[field]})
    assert answer.status == 422, answer.message
    assert "create another one" in answer.message


@pytest.mark.parametrize("params", [{"day": None, "full": None}, {"new": 1}])
def test_a_param_of_a_backfill_is_neither_removed_nor_added(server: Server, place: str, params: dict[str, Any]) -> None:
    server.create("backfills", place, backfill()).expect(201)
    answer = _merge(server, place, {"params": params})
    assert answer.status == 422, answer.message
    assert "spec.params of a Backfill cannot change; create another one" in answer.message


def test_a_backfill_can_be_suspended_and_cancelled(server: Server, place: str) -> None:
    server.create("backfills", place, backfill(**{"from": "1999-12-31T23:00:00Z"})).expect(201)
    _merge(server, place, {"suspend": True, "concurrency": 9}).expect(200)
    _merge(server, place, {"suspend": False, "cancel": True}).expect(200)
    assert "cancel cannot be reset; create another Backfill" in _merge(server, place, {"cancel": False}).message
