"""The rules of notifications: receivers, late runs, headers and logins."""

from typing import Any

import pytest

from tests.integration.conftest import Server
from tests.support.manifests import manifest

URL = {"secretRef": {"name": "chat", "key": "url"}}
SLACK = {"slack": {"url": URL}}
MAIL = {"server": "smtp.example.org", "from": "a@example.org", "to": ["b@example.org"]}


def workflow(**entry: Any) -> dict[str, Any]:
    task = {"name": "a", "container": {"command": ["echo"]}, "image": "busybox"}
    notify = {"name": "ops", "events": ["failure"], "to": SLACK, **entry}
    return manifest("Workflow", "run", {"tasks": [task], "notify": [notify]})


def in_defaults(body: dict[str, Any]) -> dict[str, Any]:
    spec = dict(body["spec"])
    return {**body, "spec": {"defaults": {"notify": spec.pop("notify")}, **spec}}


def webhook(**fields: Any) -> dict[str, Any]:
    return {"webhook": {"url": "https://example.org/", **fields}}


def test_each_receiver_is_accepted(server: Server, namespace: str) -> None:
    receivers = [SLACK, {"teams": {"url": URL}}, {"pagerduty": {"key": URL}}, webhook(), {"mail": MAIL}]
    receivers += [{"mail": MAIL | {"user": URL, "password": URL}}, {"webhook": {"urlFrom": URL}}]
    for number, to in enumerate(receivers):
        body = workflow(to=to)
        body["metadata"]["name"] = f"run-{number}"
        assert server.create("workflows", namespace, body).status == 201
    body = in_defaults(workflow(events=["late", "approval"], after="1h"))
    assert server.create("workflows", namespace, body).status == 201


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"to": {}}, "`to` must have exactly one of"),
        ({"to": SLACK | webhook()}, "`to` must have exactly one of"),
        ({"to": {"icq": {}}}, "`to` must have exactly one of"),
        ({"events": ["late"]}, "late and after belong together"),
        ({"after": "1h"}, "late and after belong together"),
        ({"events": []}, "should have at least 1 items"),
        ({"events": ["retry"]}, "Unsupported value"),
        ({"to": webhook(urlFrom=URL)}, "exactly one of url and urlFrom"),
        ({"to": webhook(url="ftp://example.org/")}, "should match"),
        ({"to": webhook(url="https://user:secret@example.org/")}, "contains credentials"),
        ({"to": webhook(headers=[{"name": "Authorization", "value": "secret"}])}, "need valueFrom"),
        ({"to": webhook(headers=[{"name": "Host", "value": "x"}])}, "the HTTP client writes"),
        ({"to": webhook(headers=[{"name": "X-A"}])}, "exactly one of value and valueFrom"),
        ({"to": {"mail": MAIL | {"user": URL}}}, "user and password belong together"),
        ({"to": {"mail": MAIL | {"user": URL, "password": URL, "tls": "none"}}}, "a login needs tls"),
        ({"to": {"slack": {"url": "https://hooks.example.org/x"}}}, "must be of type object"),
        ({"title": "x" * 1025}, "may not be more than 1024"),
    ],
)
def test_an_invalid_notification_is_rejected(
    server: Server, namespace: str, entry: dict[str, Any], problem: str
) -> None:
    for body in (workflow(**entry), in_defaults(workflow(**entry))):
        answer = server.create("workflows", namespace, body)
        assert answer.status == 422
        assert problem in answer.message


@pytest.mark.attack
@pytest.mark.parametrize(
    "to",
    [
        webhook(headers=[{"name": "X-A", "value": "a\r\nHost: other"}]),
        webhook(headers=[{"name": "X-A\r\nHost", "value": "a"}]),
        webhook(url="https://example.org/\r\nHost: other"),
        {"mail": MAIL | {"to": ["b@example.org\r\nBcc: c@example.org"]}},
        {"mail": MAIL | {"from": "a@example.org\nSubject: x"}},
        {"mail": MAIL | {"server": "smtp.example.org\nX"}},
        {"slack": {"url": {"secretRef": {"name": "../chat", "key": "url"}}}},
    ],
)
def test_no_line_break_gets_into_a_header(server: Server, namespace: str, to: dict[str, Any]) -> None:
    assert server.create("workflows", namespace, workflow(to=to)).status == 422


def test_notifications_of_a_run_cannot_change(server: Server, namespace: str) -> None:
    assert server.create("workflows", namespace, workflow()).status == 201
    path = f"/apis/torpor.dev/v1alpha1/namespaces/{namespace}/workflows/run"
    change: dict[str, Any] = {"spec": {"notify": []}}
    answer = server.request("PATCH", path, change, content_type="application/merge-patch+json")
    assert answer.status == 422
    assert "spec.notify cannot change" in answer.message
