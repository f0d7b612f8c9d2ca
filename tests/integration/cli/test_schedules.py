"""The commands for Schedules, Backfills and templates against a real API server with the admission policies."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torpor_cli.__main__ import main
from torpor_cli.cluster.api import ApiClient
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.cluster.resources import BACKFILLS, SCHEDULES, TEMPLATES, WORKFLOWS
from torpor_cli.target import TargetOptions
from torpor_wire import constants, names

Torpor = Callable[..., tuple[int, str, str]]
_TASK = {"name": "a", "trigger": {"class": "duration", "kwargs": {"duration": "1s"}}}
_PERIOD = ("--from", "2026-11-01", "--to", "2026-11-04")


@pytest.fixture
def cluster(kubeconfig: Path, namespace: str) -> ClusterConnection:
    return connect(TargetOptions(kubeconfig=str(kubeconfig), namespace=namespace))


@pytest.fixture
def torpor(kubeconfig: Path, namespace: str, capsys: pytest.CaptureFixture[str]) -> Torpor:
    """Runs a command in the namespace: exit code, standard output, standard error."""

    def run(*words: str) -> tuple[int, str, str]:
        code = main([*words, "--kubeconfig", str(kubeconfig), "-n", namespace])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def nightly(cluster: ClusterConnection) -> dict[str, Any]:
    """A Schedule of a template with a required param."""
    params = [{"name": "day", "required": True}, {"name": "limit", "type": "integer", "default": 4}]
    template = {"params": params, "workflow": {"tasks": [_TASK], "params": {"bucket": "b"}}}
    create(cluster, "ingest", TEMPLATES, template)
    sources = [{"name": "night", "cron": "0 2 * * *", "timezone": "Europe/Berlin"}]
    spec = {"sources": sources, "templateRef": {"name": "ingest"}, "params": {"day": "${at}"}}
    return create(cluster, "nightly", SCHEDULES, spec)


def create(cluster: ClusterConnection, name: str, resource: Any, spec: dict[str, Any]) -> dict[str, Any]:
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}
    return cluster.api.create(resource, cluster.namespace, body)


def answer(api: ApiClient, schedule: dict[str, Any]) -> None:
    """Create the run that the annotation requests, and remove the annotation, as the operator does."""
    name, namespace = schedule["metadata"]["name"], schedule["metadata"]["namespace"]
    text = ""
    while not text:
        current = api.get(SCHEDULES, namespace, name)
        text = current["metadata"].get("annotations", {}).get(constants.RUN_NOW, "")
    uid = schedule["metadata"]["uid"]
    run_of = {"schedule": name, "uid": uid, "at": "2026-11-22T10:00:00Z"}
    spec = {"templateRef": {"name": "ingest"}, "params": json.loads(text)["params"], "runOf": run_of}
    metadata = {"name": names.run(name, names.manual_run_key(uid, text)), "labels": {constants.LABEL_SCHEDULE: name}}
    body = {"apiVersion": constants.API_VERSION, "kind": "Workflow", "metadata": metadata, "spec": spec}
    api.create(WORKFLOWS, namespace, body)
    key = constants.RUN_NOW.replace("/", "~1")
    api.patch(SCHEDULES, namespace, name, [{"op": "remove", "path": f"/metadata/annotations/{key}"}])


def test_a_schedule_is_listed_paused_and_resumed(
    cluster: ClusterConnection, torpor: Torpor, nightly: dict[str, Any]
) -> None:
    assert torpor("schedule", "list")[1].splitlines()[1].split() == ["nightly", "-", "-", "0", "0", "0", "false", "-"]
    assert torpor("schedule", "pause", "nightly") == (0, "schedule.torpor.dev/nightly paused\n", "")
    assert torpor("schedule", "list")[1].splitlines()[1].split()[6] == "true"
    assert torpor("schedule", "resume", "nightly")[0] == 0
    assert cluster.api.get(SCHEDULES, cluster.namespace, "nightly")["spec"]["suspend"] is False


def test_the_next_ticks_are_those_of_the_zone(torpor: Torpor, nightly: dict[str, Any]) -> None:
    out = torpor("schedule", "next", "nightly", "1", "--from", "2026-11-22")[1]
    assert out.splitlines()[1].split() == [
        "night",
        "2026-11-22T02:00:00+01:00",
        "Europe/Berlin",
        "2026-11-22T01:00:00Z",
    ]


def test_a_run_is_requested_and_found(cluster: ClusterConnection, torpor: Torpor, nightly: dict[str, Any]) -> None:
    operator = threading.Thread(target=answer, args=(cluster.api, nightly))
    operator.start()
    code, out, err = torpor("schedule", "run", "nightly", "-p", "day=2026-11-20")
    operator.join()
    assert (code, err) == (0, "")
    workflow = cluster.api.get(WORKFLOWS, cluster.namespace, out.strip())
    assert workflow["spec"]["params"] == {"day": "2026-11-20"}
    history = torpor("schedule", "history", "nightly", "--live")[1]
    assert history.splitlines()[1].split()[:4] == [out.strip(), "2026-11-22T10:00:00Z", "manual", "Pending"]


def test_a_backfill_is_created_listed_and_cancelled(
    cluster: ClusterConnection, torpor: Torpor, nightly: dict[str, Any]
) -> None:
    dry_run = torpor("backfill", "create", "nightly", *_PERIOD, "--dry-run")
    assert (dry_run[0], len(dry_run[1].splitlines())) == (0, 4)
    assert torpor("backfill", "create", "nightly", *_PERIOD, "--name", "b", "--rerun", "all", "-p", "day=x")[0] == 0
    spec = cluster.api.get(BACKFILLS, cluster.namespace, "b")["spec"]
    assert (spec["rerun"], spec["from"], spec["params"]) == ("all", "2026-11-01T00:00:00Z", {"day": "x"})
    assert torpor("backfill", "list")[1].splitlines()[1].split()[:2] == ["b", "nightly"]
    assert torpor("backfill", "status", "b")[0] == 0
    assert torpor("backfill", "cancel", "b") == (0, "backfill.torpor.dev/b is cancelled\n", "")
    assert torpor("backfill", "create", "nightly", *_PERIOD, "--name", "b")[0] == 1
    code, out, _ = torpor("backfill", "create", "nightly", *_PERIOD)
    assert (code, out.startswith("nightly-")) == (0, True)


def test_a_template_is_submitted_and_its_run_resubmitted(
    cluster: ClusterConnection, torpor: Torpor, nightly: dict[str, Any]
) -> None:
    assert torpor("submit", "--template", "ingest", "--name", "one", "-p", "day=x", "-p", "limit=7")[:2] == (0, "one\n")
    code, out, err = torpor("resubmit", "one", "-p", "limit=8")
    assert (code, err) == (0, "")
    workflow = cluster.api.get(WORKFLOWS, cluster.namespace, out.strip())
    assert workflow["spec"]["params"] == {"day": "x", "limit": 8}
    assert torpor("submit", "--template", "ingest", "--dry-run=server", "-p", "day=y")[0] == 0
