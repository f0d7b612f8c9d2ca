"""`why` names the cause of each stuck situation from what a user with the ClusterRole `view` can read."""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import yaml
from torpor_views import json_fields, why
from torpor_views.facts import Facts
from torpor_views.model import RunView
from torpor_views.why import Cause, CauseKind

from tests.integration.conftest import _content, _namespace_manifest, collection
from tests.integration.controller.stage import ControllerFixture, ControllerProcess, python
from tests.integration.controller.why import set_up
from tests.integration.controller.why.situations import SITUATIONS, Situation

_NAMESPACE = "why"
_VIEWER = "why-viewer"
_ARCHIVE = f"{collection('configmaps', 'torpor-system')}/torpor-archive"
_RBAC = "rbac.authorization.k8s.io"
_POOLS = {set_up.NARROW: ("--capacity", "1"), set_up.LOOKING: ("--allow-networks", "127.0.0.0/8")}
# A machine may be busy with other work: only a test that fails waits for so long.
_TIMEOUT = 180.0


@pytest.fixture(scope="module")
def place(stage: ControllerFixture) -> Iterator[ControllerFixture]:
    """The stage in namespaces of these tests, with two more triggerers; at the end all runs are cancelled."""
    for name in (_NAMESPACE, set_up.QUOTA_NAMESPACE):
        for document in yaml.safe_load_all(_namespace_manifest(name)):
            stage.server.apply(document)
    place = replace(stage, namespace=_NAMESPACE)
    triggerers = {pool: _triggerer(stage, pool, flags) for pool, flags in _POOLS.items()}
    for process in triggerers.values():
        stage.until(lambda process=process: "owns 256 shards" in process.text(), "the triggerer serves its pool")  # type: ignore[misc]
    yield place
    for name in (_NAMESPACE, set_up.QUOTA_NAMESPACE, set_up.CLOSED_NAMESPACE):
        for item in stage.server.request("GET", collection("workflows", name)).body.get("items", []):
            replace(stage, namespace=name).cancel(item["metadata"]["name"])
    for process in triggerers.values():
        process.end()
        stage.processes.remove(process)


def _triggerer(stage: ControllerFixture, pool: str, flags: Sequence[str]) -> ControllerProcess:
    account = f"torpor-triggerer-{pool}"
    metadata = {"name": account, "namespace": "torpor-system"}
    stage.server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    role = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "cluster-admin"}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": "torpor-system"}
    body = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": account}}
    stage.server.apply(body | {"roleRef": role, "subjects": [subject]})
    return stage._start(account, account, ["torpor_triggerer", "--pool", pool, "--health-port", "0", *flags])


@pytest.fixture(scope="module")
def submitted(place: ControllerFixture) -> dict[str, tuple[ControllerFixture, str]]:
    """All situations that can be set up at once, by name: their place and the name of the run."""
    return {name: situation.set_up(place) for name, situation in SITUATIONS.items() if not situation.late}


@pytest.mark.parametrize("name", SITUATIONS)
def test_why_names_the_cause(
    name: str, place: ControllerFixture, submitted: dict[str, tuple[ControllerFixture, str]]
) -> None:
    situation = SITUATIONS[name]
    where, workflow = situation.set_up(place) if situation.late else submitted[name]
    _assert_named(where, workflow, situation)


def test_why_names_the_last_and_the_next_look_of_a_wait(place: ControllerFixture) -> None:
    class NotFound(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), NotFound)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        where, workflow = set_up.looks(place, url)
        words = (f"for {url}/_SUCCESS", " ago: ", "answered 404", "check")
        situation = Situation(set_up=_unused, kind=CauseKind.WAITING, ref="drop", words=words, command="torpor logs")
        _assert_named(where, workflow, situation)
    finally:
        server.shutdown()
        server.server_close()


def test_why_names_an_archive_that_does_not_answer(place: ControllerFixture) -> None:
    metadata = {"name": "torpor-archive", "namespace": "torpor-system"}
    data = {"url": "https://127.0.0.1:9", "ca.crt": _authority(place)}
    place.server.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    try:
        place.until(lambda: _knows_the_archive(place), "the operator has read where the archive is")
        workflow = place.submit([python("load", "echo")], ttlAfterFinished="1s")
        situation = Situation(
            set_up=_unused,
            kind=CauseKind.ARCHIVE_UNAVAILABLE,
            words=("the archive has not stored it",),
            command="torpor doctor",
        )
        _assert_named(place, workflow, situation)
    finally:
        place.server.request("DELETE", _ARCHIVE)
        place.until(lambda: not _knows_the_archive(place), "the operator has read that there is none")


def _knows_the_archive(stage: ControllerFixture) -> bool:
    """Whether new pods know an archive."""
    run = stage.taskrun(name := stage.submit([python("only", "echo")]), "only")
    stage.ends(name)
    return any("archive_url" in json.dumps(pod) for pod in stage.pods_of(run))


def test_why_names_an_operator_that_does_not_run(place: ControllerFixture) -> None:
    where, workflow = set_up.operator_down(place)
    words = ("the operator has not seen it", "check that the operator is running")
    situation = Situation(set_up=_unused, kind=CauseKind.NOT_SEEN, words=words, command="torpor doctor")
    _assert_named(where, workflow, situation)


def _assert_named(stage: ControllerFixture, workflow: str, expected: Situation) -> None:
    """Poll until the cause is named; all its words are in one sentence, which is one line."""
    deadline = time.monotonic() + _TIMEOUT
    while True:
        causes = _causes(stage, workflow, expected)
        match = next((cause for cause in causes if _is_named(cause, expected)), None)
        if match is not None:
            assert "\n" not in match.sentence + match.command
            return
        assert time.monotonic() < deadline, "\n".join(f"{cause.kind} {cause.ref}: {cause.sentence}" for cause in causes)
        time.sleep(0.5)


def _is_named(cause: Cause, expected: Situation) -> bool:
    return (
        cause.kind is expected.kind
        and cause.ref == expected.ref
        and all(word in cause.sentence for word in expected.words)
        and expected.command in cause.command
    )


def _causes(stage: ControllerFixture, workflow: str, expected: Situation) -> tuple[Cause, ...]:
    read = _Reader(stage, _token(stage))
    body = read.object(collection("workflows", stage.namespace) + f"/{workflow}")
    taskruns = read.items(collection("taskruns", stage.namespace))
    now = time.time()
    if expected.at:
        moments = [json_fields.moment(run["status"].get(expected.at)) for run in taskruns if _of(run, workflow)]
        now = next((moment - 300 for moment in moments if moment is not None), now)
    facts = Facts.parse(
        pods=read.items(collection("pods", stage.namespace)),
        events=read.items(f"/apis/events.k8s.io/v1/namespaces/{stage.namespace}/events"),
        pools=read.object(collection("configmaps", stage.namespace) + "/torpor-pools"),
        taskruns=taskruns,
    )
    mine = [run for run in taskruns if _of(run, workflow)]
    return why.of_run(RunView.parse(body, mine, now=now), facts)


def _of(taskrun: dict[str, Any], workflow: str) -> bool:
    return bool(taskrun["spec"]["workflow"]["name"] == workflow)


class _Reader:
    """Reads as the viewer; what is missing is empty."""

    def __init__(self, stage: ControllerFixture, token: str) -> None:
        self._stage = stage
        self._token = token

    def object(self, path: str) -> dict[str, Any]:
        answer = self._stage.server.request("GET", path, token=self._token)
        assert answer.status in (200, 404), answer.message
        return answer.body if answer.status == 200 else {}

    def items(self, path: str) -> list[dict[str, Any]]:
        return list(self.object(path).get("items", []))


def _token(stage: ControllerFixture) -> str:
    """The token of a user who has the roles of `view`, which nothing aggregates on this API server."""
    namespace = stage.namespace
    metadata = {"name": _VIEWER, "namespace": namespace}
    stage.server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    for role in ("system:aggregate-to-view", "torpor-view"):
        body: dict[str, Any] = {"apiVersion": f"{_RBAC}/v1", "kind": "RoleBinding"}
        body["metadata"] = {"name": f"{_VIEWER}-{role.partition(':')[0]}", "namespace": namespace}
        body["roleRef"] = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role}
        stage.server.apply(body | {"subjects": [{"kind": "ServiceAccount", **metadata}]})
    return stage.server.token(namespace, _VIEWER)


def _authority(stage: ControllerFixture) -> str:
    kubeconfig = stage.plane.kubeconfig
    cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    return _content(cluster, "certificate-authority", kubeconfig)


def _unused(_: ControllerFixture) -> tuple[ControllerFixture, str]:
    raise AssertionError("it is set up by the test")
