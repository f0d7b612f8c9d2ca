"""The fields of the JSON log that name the run: the operator's passes and the archive's requests."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from torpor_archive.http import middleware
from torpor_archive.metrics import ArchiveMetrics
from torpor_kubernetes.log_setup import JsonFormatter
from torpor_operator.settings import Settings

from tests.support.builders import NAMESPACE, python
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import Fault


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter("test"))
    logging.getLogger().addHandler(handler)
    yield stream
    logging.getLogger().removeHandler(handler)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


async def test_each_line_of_a_pass_has_the_uid_of_its_run(stream: io.StringIO) -> None:
    harness = ControllerHarness(Settings())
    harness.fake.inject(Fault(status=503, method="POST", path="/taskruns", times=1))
    async with harness.running():
        harness.create("run", python("first"))
        await harness.advance(2)
        uid = harness.workflow("run")["metadata"]["uid"]
    (line, *_) = lines(stream)
    assert (line["run"], line["namespace"], line["name"]) == (uid, NAMESPACE, "run")


async def test_each_line_of_a_request_has_the_run_of_its_path(stream: io.StringIO) -> None:
    async def fail(_request: web.Request) -> web.Response:
        raise ZeroDivisionError

    application = web.Application(middlewares=[middleware.middleware(ArchiveMetrics())])
    application.add_routes([web.put("/v1/namespaces/{namespace}/runs/{uid}", fail)])
    async with TestClient(TestServer(application)) as client, client.put("/v1/namespaces/ns/runs/u-1") as response:
        assert response.status == 500
    (line,) = lines(stream)
    assert (line["namespace"], line["run"]) == ("ns", "u-1")
    assert "ZeroDivisionError" in line["exception"]
