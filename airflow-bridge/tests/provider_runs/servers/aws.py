"""AWS on loopback: moto's server, and before it the answers of a row.

An answer is the output of an operation as boto3 returns it, checked against the models of botocore. A list has the
answers of successive requests; its last one stays. What has no answer goes to moto. The access key of a request is
the name of its row, so rows do not see the answers of others.
"""

import http.client
import json
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import botocore.session
from botocore.model import OperationModel, ServiceModel, Shape
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

from provider_runs.servers.answers import AnswersOfRow

_CREDENTIAL = re.compile(r"Credential=([^/]+)/\d+/[^/]+/([^/]+)/aws4_request")
_LABEL = re.compile(r"\{([^}+]+)(\+?)\}")
_HOP_HEADERS = {"transfer-encoding", "connection", "content-length", "content-encoding", "server", "date"}
REGION = "us-east-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsError:
    """An error of an operation."""

    code: str
    status: int = 400
    message: str = "as the row says"


class AwsServer:
    """The server. `url` is the endpoint of every service."""

    def __init__(self) -> None:
        self._moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._moto.start()
        _, moto_port = self._moto.get_host_and_port()
        self.rows: dict[str, AnswersOfRow] = {}
        rows = self.rows

        class Handler(_RequestHandler):
            """Serves the rows of this server."""

            answers = rows
            port = moto_port

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def add(self, access_key: str, answers: Mapping[str, Any]) -> AnswersOfRow:
        """Let the requests with this access key get these answers, and return them."""
        self.rows[access_key] = added = AnswersOfRow(answers)
        return added

    def connection(self, access_key: str) -> str:
        """Return the connection of a row."""
        config = {"inject_host_prefix": False}  # the address has no names below it, such as `env.127.0.0.1`
        extra = {"endpoint_url": self.url, "region_name": REGION, "config_kwargs": config}
        return json.dumps({"conn_type": "aws", "login": access_key, "password": "secret", "extra": extra})

    def client(self, service: str) -> Any:
        """Return a client of boto3, to fill moto."""
        import boto3  # noqa: PLC0415 - it takes a second to import

        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id="prepare",
            aws_secret_access_key="secret",
        )

    def close(self) -> None:
        """Stop both servers."""
        self._server.shutdown()
        self._server.server_close()
        self._moto.stop()


class _RequestHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers: Mapping[str, AnswersOfRow]
    port: int

    def handle_one(self) -> None:
        """Answer, or forward to moto."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        found = _CREDENTIAL.search(self.headers.get("Authorization") or "")
        row = self.answers.get(found[1]) if found else None
        if found and row is not None:
            target = self.headers.get("X-Amz-Target") or ""
            request = AwsRequest(signing_name=found[2], method=self.command, path=self.path, target=target, body=body)
            for service in sorted({name.partition(".")[0] for name in row.names}):
                operation = _operation(service, request)
                answer = None if operation is None else row.next(f"{service}.{operation.name}")
                if operation is not None and answer is not None:
                    self._reply(*_checked_response(operation, answer))
                    return
        self._forward(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = handle_one  # noqa: N815 - names of the base class

    def _forward(self, body: bytes) -> None:
        moto = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        moto.request(self.command, self.path, body or None, headers)
        answer = moto.getresponse()
        content = answer.read()
        moto.close()
        kept = {name: value for name, value in answer.getheaders() if name.lower() not in _HOP_HEADERS}
        if self.command == "HEAD":
            kept["Content-Length"] = answer.headers.get("Content-Length", "0")
        self._reply(answer.status, kept, content)

    def _reply(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Write no line for each request."""


@cache
def _model(service: str) -> ServiceModel:
    return botocore.session.get_session().get_service_model(service)


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsRequest:
    """A request, and the name of the service in its signature."""

    signing_name: str
    method: str
    path: str
    target: str
    body: bytes


def _operation(service: str, request: AwsRequest) -> OperationModel | None:
    """Return the operation of a request, None if it is none of this service."""
    model = _model(service)
    if request.signing_name != model.signing_name:
        return None
    match model.resolved_protocol:
        case "json":
            name = request.target.rpartition(".")[2]
        case "query" | "ec2":
            name = parse_qs(request.body.decode()).get("Action", [""])[0]
        case _:
            name = _rest_operation(service, request.method, urlsplit(request.path).path)
    return model.operation_model(name) if name in model.operation_names else None


def _rest_operation(service: str, method: str, path: str) -> str:
    for pattern, of_method, name in _rest_patterns(service):
        if of_method == method and pattern.fullmatch(path):
            return name
    return ""


@cache
def _rest_patterns(service: str) -> Sequence[tuple[re.Pattern[str], str, str]]:
    """Return the paths of a service, those with fewer labels first."""
    model = _model(service)
    operations = [model.operation_model(name) for name in model.operation_names]
    operations.sort(key=lambda each: str(each.http["requestUri"]).count("{"))
    return [
        (_pattern(each.http["requestUri"].partition("?")[0]), each.http["method"], each.name) for each in operations
    ]


def _pattern(uri: str) -> re.Pattern[str]:
    parts, end = "", 0
    for label in _LABEL.finditer(uri):
        parts += re.escape(uri[end : label.start()]) + (".+" if label[2] else "[^/]+")
        end = label.end()
    return re.compile(parts + re.escape(uri[end:]) + "/?")


def _checked_response(operation: OperationModel, answer: Any) -> tuple[int, dict[str, str], bytes]:
    """Return the response, or an error if the answer is none of the operation."""
    try:
        return _response(operation, answer)
    except (KeyError, AttributeError, TypeError) as error:
        problem = f"the row's answer to {operation.name} is none of it: {type(error).__name__} {error}"
        return _error(operation.service_model.resolved_protocol, AwsError(code="BadRow", message=problem))


def _response(operation: OperationModel, answer: Any) -> tuple[int, dict[str, str], bytes]:
    protocol = operation.service_model.resolved_protocol
    if isinstance(answer, AwsError):
        return _error(protocol, answer)
    if protocol in {"query", "ec2"}:
        return 200, {"Content-Type": "text/xml"}, _query_document(operation, answer).encode()
    content = {} if operation.output_shape is None else _encode(operation.output_shape, answer)
    status = int(operation.http.get("responseCode", 200))
    return status, {"Content-Type": "application/json"}, json.dumps(content).encode()


def _error(protocol: str, error: AwsError) -> tuple[int, dict[str, str], bytes]:
    if protocol in {"query", "ec2"}:
        text = (
            f"<ErrorResponse><Error><Code>{error.code}</Code><Message>{error.message}</Message></Error></ErrorResponse>"
        )
        return error.status, {"Content-Type": "text/xml"}, text.encode()
    headers = {"Content-Type": "application/json", "x-amzn-errortype": error.code}
    return error.status, headers, json.dumps({"__type": error.code, "message": error.message}).encode()


def _encode(shape: Shape, value: Any) -> Any:
    """Return an answer as JSON. Raises KeyError for a member that the model does not have."""
    match shape.type_name:
        case "structure" if not shape.is_document_type:
            members = shape.members
            return {
                members[name].serialization.get("name", name): _encode(members[name], member)
                for name, member in value.items()
            }
        case "list":
            return [_encode(shape.member, each) for each in value]
        case "map":
            return {name: _encode(shape.value, each) for name, each in value.items()}
        case "timestamp" if isinstance(value, datetime):
            return value.timestamp()
        case _:
            return value


def _query_document(operation: OperationModel, answer: Any) -> str:
    """Return an answer as the XML of the protocol `query`."""
    inner, name = "", operation.name
    if operation.output_shape is not None:
        inner = _elements(operation.output_shape, answer)
    wrapper = (operation.output_shape.serialization if operation.output_shape is not None else {}).get("resultWrapper")
    result = f"<{wrapper}>{inner}</{wrapper}>" if wrapper else inner
    return f"<{name}Response>{result}<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></{name}Response>"


def _elements(shape: Shape, value: Any) -> str:
    return "".join(_element(shape.members[name], name, member) for name, member in value.items())


def _element(shape: Shape, name: str, value: Any) -> str:
    tag = shape.serialization.get("name", name)
    match shape.type_name:
        case "structure":
            return f"<{tag}>{_elements(shape, value)}</{tag}>"
        case "list":
            item = shape.member.serialization.get("name", "member")
            return f"<{tag}>{''.join(_element(shape.member, item, each) for each in value)}</{tag}>"
        case "boolean":
            return f"<{tag}>{str(value).lower()}</{tag}>"
        case _:
            return f"<{tag}>{value}</{tag}>"
