import socket
from pathlib import Path
from typing import Any

import pytest
from torpor_cli.cluster import errors
from torpor_cli.cluster.access import Access, Anonymous, ServerEndpoint, TokenFile
from torpor_cli.cluster.api import ApiClient, ObjectSelection
from torpor_cli.cluster.http import HttpClient
from torpor_cli.cluster.resources import WORKFLOWS
from torpor_cli.errors import CliError

from tests.unit.cli.cluster.scripted_server import RecordedRequest, ScriptedResponse, scripted_server


def http(url: str, **fields: Any) -> HttpClient:
    return HttpClient(Access(server=ServerEndpoint(url=url), context="dev", **{"login": Anonymous(), **fields}))


def status(code: int, reason: str, message: str, **details: Any) -> ScriptedResponse:
    return ScriptedResponse(
        status=code, body={"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}
    )


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (status(401, "Unauthorized", "Unauthorized"), errors.ForbiddenError, "does not accept your credentials"),
        (
            status(403, "Forbidden", 'workflows is forbidden: User "ann"'),
            errors.ForbiddenError,
            "ask for ClusterRole view",
        ),
        (
            status(404, "NotFound", "the server could not find the requested resource"),
            errors.NotFoundError,
            "Torpor is not installed in this cluster",
        ),
        (
            ScriptedResponse(status=404, body="404 page not found"),
            errors.NotFoundError,
            "Torpor is not installed in this cluster",
        ),
        (status(404, "NotFound", 'workflows "x" not found', name="x"), errors.NotFoundError, '"x" not found'),
        (
            status(403, "Forbidden", "ValidatingAdmissionPolicy 'x' denied request: no"),
            errors.InvalidObjectError,
            "denied request: no",
        ),
        (status(400, "BadRequest", "strict decoding error"), errors.InvalidObjectError, "strict decoding error"),
        (status(409, "AlreadyExists", '"x" already exists'), errors.ConflictError, "already exists"),
        (status(410, "Expired", "too old"), errors.GoneError, "too old"),
        (status(422, "Invalid", "a test failed"), errors.ConflictError, "a test failed"),
        (status(422, "Invalid", "spec.x: Required", causes=[{}]), errors.InvalidObjectError, "spec.x: Required"),
        (status(500, "InternalError", "broken"), errors.UnavailableError, "broken"),
        (ScriptedResponse(status=502, body="<html>\nbad gateway"), errors.UnavailableError, "bad gateway"),
    ],
)
def test_each_failure_is_a_type_and_one_line(answer: ScriptedResponse, kind: type[Exception], message: str) -> None:
    with scripted_server(lambda _: answer) as server, pytest.raises(errors.ClusterError) as raised:
        http(server.url).json("GET", "/x")
    assert type(raised.value) is kind
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_rejection_by_a_policy_keeps_its_message() -> None:
    message = "workflows.torpor.dev \"x\" is forbidden: ValidatingAdmissionPolicy 'torpor-clear' denied request: no"
    with scripted_server(lambda _: status(403, "Forbidden", message)) as server, pytest.raises(CliError) as raised:
        http(server.url).json("GET", "/x")
    assert str(raised.value) == message


@pytest.mark.attack
def test_a_response_that_is_nested_too_deeply_is_one_line() -> None:
    with scripted_server(lambda _: ScriptedResponse(body=b"[" * 100_000)) as server, pytest.raises(CliError) as raised:
        http(server.url).json("GET", "/x")
    assert str(raised.value) == "an object of the response is nested too deeply to be read"


def test_an_overloaded_server_is_asked_again() -> None:
    answers = [ScriptedResponse(status=429, headers={"Retry-After": "0"}), ScriptedResponse(body={"ok": 1})]
    with scripted_server(lambda _: answers.pop(0)) as server:
        assert http(server.url).json("GET", "/x") == {"ok": 1}


def test_a_renewed_token_is_read_again_after_401(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")

    def script(request: RecordedRequest) -> ScriptedResponse:
        token.write_text("new")
        accepted = request.headers["Authorization"] == "Bearer new"
        return ScriptedResponse(body={"ok": 1}) if accepted else status(401, "Unauthorized", "Unauthorized")

    with scripted_server(script) as server:
        assert http(server.url, login=TokenFile(path=token)).json("GET", "/x") == {"ok": 1}


def test_a_server_that_does_not_answer_is_named_with_its_context() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(errors.UnavailableError) as raised:
        http(url).json("GET", "/x")
    assert str(raised.value).startswith(f"no response from {url} (context dev): ")
    assert "Connection refused" in str(raised.value)


def test_impersonation_sends_the_user_and_each_group() -> None:
    with scripted_server(lambda _: ScriptedResponse(body={})) as server:
        http(server.url, as_user="bob", as_groups=("a", "b")).json("GET", "/x")
    assert server.requests[0].headers["Impersonate-User"] == "bob"
    assert server.requests[0].groups == ("a", "b")


def test_a_proxy_receives_the_request() -> None:
    with scripted_server(lambda _: ScriptedResponse(body={"by": "proxy"})) as proxy:
        server = ServerEndpoint(url="http://kubernetes.invalid", proxy=proxy.url)
        body = HttpClient(Access(server=server, login=Anonymous())).json("GET", "/x")
    assert body == {"by": "proxy"}


def test_an_unknown_kind_of_proxy_is_an_error() -> None:
    with pytest.raises(CliError, match="use an http or https proxy"):
        HttpClient(Access(server=ServerEndpoint(url="http://x", proxy="socks5://y"), login=Anonymous()))


def item(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": name}}


def test_a_list_follows_its_pages() -> None:
    def script(request: RecordedRequest) -> ScriptedResponse:
        token = request.query.get("continue", [""])[0]
        follows = {"": "p2", "p2": "p3", "p3": ""}
        return ScriptedResponse(body={"metadata": {"continue": follows[token]}, "items": [item(token or "p1")]})

    with scripted_server(script) as server:
        items = ApiClient(http(server.url)).list(ObjectSelection(resource=WORKFLOWS, namespace="team"))
    assert [each["metadata"]["name"] for each in items] == ["p1", "p2", "p3"]
    assert {each["kind"] for each in items} == {"Workflow"}


def test_a_list_that_expires_starts_again_and_has_each_object_once() -> None:
    expired = iter([True])

    def script(request: RecordedRequest) -> ScriptedResponse:
        if "continue" not in request.query:
            return ScriptedResponse(body={"metadata": {"continue": "p2"}, "items": [item("a")]})
        if next(expired, False):
            return status(410, "Expired", "the continue token is too old")
        return ScriptedResponse(body={"metadata": {}, "items": [item("b")]})

    with scripted_server(script) as server:
        items = ApiClient(http(server.url)).list(ObjectSelection(resource=WORKFLOWS, namespace="team"))
    assert [each["metadata"]["name"] for each in items] == ["a", "b"]


def test_a_name_is_one_segment_of_the_path() -> None:
    assert (
        WORKFLOWS.path("team", "../secrets/x") == "/apis/torpor.dev/v1alpha1/namespaces/team/workflows/..%2Fsecrets%2Fx"
    )
