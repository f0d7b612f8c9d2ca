"""What the policies reject in a task that is an HTTP request."""

from typing import Any

import pytest

from tests.integration.conftest import Server
from tests.support.manifests import manifest

_REFERENCE = {"secretRef": {"name": "api", "key": "token"}}
_POST = {"url": "https://x/", "method": "POST"}


def workflow(call: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return manifest("Workflow", "run", {"tasks": [{"name": "a", "http": call} | fields], "params": {"n": 1}})


ADMITTED: dict[str, dict[str, Any]] = {
    "a url": workflow({"url": "https://x/"}),
    "a url from a Secret": workflow({"url": _REFERENCE}),
    "a url that is an expression": workflow({"url": "${params.n}"}),
    "all fields": workflow(
        _POST
        | {
            "headers": {"Authorization": _REFERENCE, "X-N": "${params.n}"},
            "json": {"n": "${params.n}", "token": _REFERENCE},
            "success": [201, "400-404"],
            "timeout": "10s",
        },
        result="event.json",
        failWhen="event.status == 404",
        expand=[{"name": "n", "over": [1]}],
        maxActive=1,
        retries={"limit": 2, "when": "httpStatus >= 500"},
    ),
}
REJECTED: dict[str, tuple[dict[str, Any], str]] = {
    "a request and a function": (workflow({"url": "https://x/"}, python="m:f", image="x"), "exactly one body"),
    "fields of a pod": (
        workflow({"url": "https://x/"}, image="x", args={"n": 1}),
        "task a: a task with http has no pod: remove image, args",
    ),
    "no url": (workflow({}), "url"),
    "a path": (workflow({"url": "/jobs"}), "http.url is not a URL such as https://example.org/path"),
    "another scheme": (workflow({"url": "file:///etc/passwd"}), "http.url is not a URL"),
    "credentials in the url": (workflow({"url": "https://ann:pw@x/"}), "http.url contains credentials"),
    "a number as url": (workflow({"url": 1}), "http.url is a text or {secretRef: {name, key}}"),
    "an unknown method": (workflow({"url": "https://x/", "method": "TRACE"}), "method"),
    "two bodies": (workflow(_POST | {"body": "x", "json": 1}), "http has body or json, not both"),
    "a body of GET": (workflow({"url": "https://x/", "json": 1}), "http: GET has no body"),
    "a header of the client": (workflow(_POST | {"headers": {"Host": "y"}}), "only the HTTP client writes"),
    "a header with a line break": (workflow(_POST | {"headers": {"X\r\nY": "z"}}), "a header has an invalid name"),
    "a readable password": (
        workflow(_POST | {"headers": {"authorization": "Bearer ${params.n}"}}),
        "Authorization and Cookie are secrets",
    ),
    "a number as header": (workflow(_POST | {"headers": {"X": 1}}), "quote numbers"),
    "a status that does not exist": (workflow(_POST | {"success": [99]}), "http.success has codes such as 201"),
    "a word as status": (workflow(_POST | {"success": ["ok"]}), "http.success has codes such as 201"),
}


@pytest.mark.parametrize("case", ADMITTED)
def test_a_request_with_valid_fields_is_admitted(server: Server, namespace: str, case: str) -> None:
    answer = server.create("workflows", namespace, ADMITTED[case])
    assert answer.status == 201, answer.message


@pytest.mark.attack
@pytest.mark.parametrize("case", REJECTED)
def test_a_request_with_invalid_fields_is_rejected(server: Server, namespace: str, case: str) -> None:
    body, message = REJECTED[case]
    answer = server.create("workflows", namespace, body)
    assert answer.status == 422, answer.message
    assert message in answer.message
