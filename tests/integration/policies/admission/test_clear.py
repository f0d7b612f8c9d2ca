"""What the policy on the annotation torpor.dev/clear admits."""

from typing import Any

import pytest

from tests.integration.conftest import Answer, Server
from tests.support.manifests import manifest

_PATH = "/apis/torpor.dev/v1alpha1/namespaces/{}/workflows/run"


def workflow(**annotations: str) -> dict[str, Any]:
    tasks = [{"name": "load", "python": "m:f", "image": "x"}, {"name": "report", "trigger": {"class": "time"}}]
    return manifest("Workflow", "run", {"tasks": tasks}, annotations=annotations)


@pytest.fixture
def running(server: Server, namespace: str) -> str:
    """A namespace with a Workflow `run` in it."""
    server.create("workflows", namespace, workflow()).expect(201)
    return namespace


def merge(server: Server, namespace: str, patch: dict[str, Any]) -> Answer:
    return server.request("PATCH", _PATH.format(namespace), patch, content_type="application/merge-patch+json")


def annotate(server: Server, namespace: str, text: str | None) -> Answer:
    return merge(server, namespace, {"metadata": {"annotations": {"torpor.dev/clear": text}}})


@pytest.mark.parametrize(
    "text",
    [
        "load",
        "load/3",
        "load/3, report",
        " load ,report ",
        "load/2.0",
        "load/2.0.1,report",
        "load/2.0.1.9",
        "failed",
        "failed,load",
    ],
)
def test_instances_and_tasks_may_be_cleared(server: Server, running: str, text: str) -> None:
    annotate(server, running, text).expect(200)
    annotate(server, running, None).expect(200)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("load[3]", 'torpor.dev/clear: invalid entry "load[3]"; use task, task/index (load/3, parts/2.0), or failed'),
        *((bad, f'invalid entry "{bad}"') for bad in ("load/2.", "load/.2", "load/2..0", "load/2-0", "load/1.2.3.4.5")),
        ("load/x", 'invalid entry "load/x"'),
        ("load report", 'invalid entry "load report"'),
        ("load, lo ad", 'invalid entry "lo ad"'),
        ("fai led", 'invalid entry "fai led"'),
        ("", 'invalid entry ""'),
        ("load,lod/3", "torpor.dev/clear names lod: no such task; tasks: load, report"),
    ],
)
def test_an_invalid_entry_is_rejected(server: Server, running: str, text: str, said: str) -> None:
    answer = annotate(server, running, text)
    assert answer.status == 422, answer.message
    assert "torpor-clear" in answer.message
    assert said in answer.message


@pytest.mark.parametrize("field", ["stop", "cancel"])
def test_a_cancelled_run_can_be_cleared_after_its_end(server: Server, running: str, field: str) -> None:
    merge(server, running, {"spec": {field: True}}).expect(200)
    answer = annotate(server, running, "load")
    assert answer.status == 422
    assert "the run is being cancelled; clear it after it has ended" in answer.message
    ended = {"status": {"completionTime": "2026-11-22T00:00:00Z"}}
    path = _PATH.format(running) + "/status"
    server.request("PATCH", path, ended, content_type="application/merge-patch+json").expect(200)
    annotate(server, running, "load").expect(200)


def test_a_run_that_was_cleared_while_it_was_cancelled_can_still_be_changed(server: Server, running: str) -> None:
    annotate(server, running, "load").expect(200)
    merge(server, running, {"spec": {"cancel": True}}).expect(200)
    merge(server, running, {"metadata": {"finalizers": ["torpor.dev/cancel-first"]}}).expect(200)


def test_a_new_workflow_has_nothing_to_clear(server: Server, namespace: str) -> None:
    answer = server.create("workflows", namespace, workflow(**{"torpor.dev/clear": "load"}))
    assert answer.status == 422
    assert "nothing to clear" in answer.message
