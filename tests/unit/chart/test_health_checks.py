"""The health checks of docs/operations/gitops.md: those for Argo CD by a real Lua, those for Flux by CEL."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from lupa import lua51  # type: ignore[import-untyped]
from torpor_expressions.evaluator import evaluate_here
from torpor_expressions.value import Value

_PAGE = Path(__file__).resolve().parents[3] / "docs/operations/gitops.md"
_BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ARGO = "resource.customizations.health.torpor.dev_"


def condition(kind: str, status: str, reason: str = "") -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status, "reason": reason, "message": "why"}]}


def ready(status: str, reason: str = "") -> dict[str, Any]:
    return {**condition("Ready", status, reason), "observedGeneration": 2}


CASES: Mapping[str, tuple[str, dict[str, Any] | None, str, str]] = {
    "a new run": ("Workflow", None, "Progressing", "inProgress"),
    "a run that goes on": ("Workflow", {**condition("Succeeded", "Unknown"), "state": "Running"}, "Progressing", ""),
    "a run that succeeded": ("Workflow", condition("Succeeded", "True"), "Healthy", "current"),
    "a run that failed": ("Workflow", condition("Succeeded", "False"), "Degraded", "failed"),
    "a run that is unreadable": ("Workflow", condition("Stalled", "True"), "Degraded", "failed"),
    "a suspended run": ("Workflow", {**condition("Succeeded", "Unknown"), "state": "Suspended"}, "Suspended", ""),
    "a new backfill": ("Backfill", None, "Progressing", "inProgress"),
    "a backfill that succeeded": ("Backfill", condition("Succeeded", "True"), "Healthy", "current"),
    "a backfill that failed": ("Backfill", condition("Succeeded", "False"), "Degraded", "failed"),
    "a new schedule": ("Schedule", None, "Progressing", "inProgress"),
    "a changed schedule": ("Schedule", {**ready("True"), "observedGeneration": 1}, "Progressing", "inProgress"),
    "a schedule that waits": ("Schedule", ready("True", "Waiting"), "Healthy", "current"),
    "a schedule whose runs go on": ("Schedule", ready("False", "RunsActive"), "Healthy", "current"),
    "a suspended schedule": ("Schedule", ready("False", "Suspended"), "Suspended", "current"),
    "a schedule with a wrong source": ("Schedule", ready("False", "SourceFailed"), "Degraded", "failed"),
    "a new taskrun": ("TaskRun", None, "Progressing", ""),
    "a deferred taskrun": ("TaskRun", {"state": "Deferred"}, "Progressing", ""),
    "a taskrun that failed": ("TaskRun", {"state": "Failed", "message": "why"}, "Degraded", ""),
    "a skipped taskrun": ("TaskRun", {"state": "Skipped"}, "Healthy", ""),
}
"""By description: the kind, its status, the health in Argo CD, and the expression of Flux that is true."""


@cache
def documents() -> list[dict[str, Any]]:
    return [each for text in _BLOCK.findall(_PAGE.read_text()) for each in yaml.safe_load_all(text)]


def body(kind: str, status: dict[str, Any] | None) -> dict[str, Any]:
    made = {"apiVersion": "torpor.dev/v1alpha1", "kind": kind, "metadata": {"name": "it", "generation": 2}, "spec": {}}
    return made | ({} if status is None else {"status": status})


@pytest.mark.parametrize("case", CASES)
def test_argo_cd_gets_the_health_of_an_object(case: str) -> None:
    kind, status, health, _ = CASES[case]
    (scripts,) = (each["data"] for each in documents() if "data" in each)
    lua = lua51.LuaRuntime(unpack_returned_tuples=True)
    check = lua.eval(f"function(obj) {scripts[_ARGO + kind]} end")
    result = check(lua.table_from(body(kind, status), recursive=True))
    assert result["status"] == health
    assert result["message"] in ("", "why")


@pytest.mark.parametrize("case", [name for name, (kind, *_) in CASES.items() if kind != "TaskRun"])
def test_flux_waits_fails_and_goes_on(case: str) -> None:
    kind, status, _, expected = CASES[case]
    (checks,) = (each["spec"]["healthCheckExprs"] for each in documents() if "healthCheckExprs" in each.get("spec", {}))
    (expressions,) = (each for each in checks if each["kind"] == kind)
    # Flux passes the object itself, in this order. An object without a status is in progress.
    variables = {"status": {}, **body(kind, status)}
    true = [name for name in ("inProgress", "failed", "current") if holds(expressions.get(name), variables)]
    assert (true or [""])[0] == ("" if expected == "inProgress" and "inProgress" not in expressions else expected)


def holds(expression: str | None, variables: Mapping[str, Any]) -> bool:
    return expression is not None and evaluate_here(expression, variables) == Value(json=True)
