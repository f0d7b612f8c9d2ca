"""The kinds that are checked, and objects that seem to be meant as one of them and are none. Pure."""

from collections.abc import Mapping
from typing import Any

from torpor_wire import constants

from torpor_cli.linting.finding import LintProblem, LintRule
from torpor_cli.linting.schema import nearest

WORKFLOW, TEMPLATE, SCHEDULE, BACKFILL = "Workflow", "WorkflowTemplate", "Schedule", "Backfill"
PLURALS: Mapping[str, str] = {
    WORKFLOW: "workflows",
    TEMPLATE: "workflowtemplates",
    SCHEDULE: "schedules",
    BACKFILL: "backfills",
}
"""The plural of each kind that is checked."""
_KINDS = ("TaskRun", *PLURALS)


def kind_of(document: Mapping[str, Any]) -> str | None:
    """Return the kind of an object that is checked, None for any other."""
    kind = document.get("kind")
    known = isinstance(kind, str) and kind in PLURALS and document.get("apiVersion") == constants.API_VERSION
    return kind if known else None


def problem(document: Mapping[str, Any]) -> LintProblem | None:
    """Return why an object seems to be meant for Torpor and is not: a missing or wrong version or kind."""
    version, kind = document.get("apiVersion"), document.get("kind")
    if kind in _KINDS[1:] and version is None:
        message = f"apiVersion is missing; write apiVersion: {constants.API_VERSION}"
        return LintProblem(path=("kind",), rule=LintRule.KIND, message=message)
    group = version.partition("/")[0] if isinstance(version, str) else ""
    if group != constants.GROUP or (version == constants.API_VERSION and kind in _KINDS):
        return None
    hint = f"; write {constants.API_VERSION}" if kind in _KINDS else nearest(str(kind), _KINDS)
    if kind is not None and not hint:
        return None  # configuration of kustomize, such as TriggerPool
    field = "apiVersion" if kind in _KINDS or kind is None else "kind"
    message = f'no matches for kind "{kind}" in version "{version}"{hint}' if kind else "kind is missing"
    return LintProblem(path=(field,), rule=LintRule.KIND, message=message)
