"""Notifications that `torpor lint` checks: templates, receivers, and when a run is late."""

from typing import Any

import pytest

from tests.unit.cli.linting.findings import lint
from tests.unit.cli.linting.test_graph import workflow

SLACK = {"slack": {"url": {"secretRef": {"name": "chat", "key": "url"}}}}
TASK = {"name": "a", "trigger": {"class": "duration", "kwargs": {"duration": "1s"}}}


def messages(spec: dict[str, Any]) -> list[str]:
    return [finding.message for finding in lint(workflow(TASK, **spec))]


def entry(**fields: Any) -> dict[str, Any]:
    return {"name": "ops", "events": ["failure"], "to": SLACK, **fields}


def test_a_valid_notification_has_no_finding() -> None:
    assert messages({"notify": [entry(title="${run.name} ${notification.event}", text="${run.message}")]}) == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"text": "${tasks.a.result}"}, "notify ops: text: "),
        ({"title": "${run.name"}, "has no closing '}'"),
        ({"to": {}}, "`to` must have exactly one of"),
        ({"events": ["late"]}, "late and after belong together"),
    ],
)
def test_what_would_not_work_is_an_error(fields: dict[str, Any], words: str) -> None:
    for spec in ({"notify": [entry(**fields)]}, {"defaults": {"notify": [entry(**fields)]}}):
        assert any(words in message for message in messages(spec))
