"""What the policies admit of marks: the annotations, who is named, and the states of a marked TaskRun."""

import time
from typing import Any

import pytest
from torpor_crds.models import taskrun
from torpor_wire import retry, transitions, trigger
from torpor_wire.reason import Reason
from torpor_wire.state import State

from tests.integration.conftest import Answer, Server
from tests.integration.policies.admission.test_changed_by import Editor
from tests.integration.policies.admission.test_clear import merge, workflow
from tests.support.manifests import manifest

_RUN = "/apis/torpor.dev/v1alpha1/namespaces/{}/taskruns/{}"


@pytest.fixture
def running(server: Server, namespace: str) -> str:
    """A namespace with a Workflow `run` in it."""
    server.create("workflows", namespace, workflow()).expect(201)
    return namespace


def annotate(server: Server, namespace: str, text: str | None, result: str | None = None) -> Answer:
    return merge(
        server, namespace, {"metadata": {"annotations": {"torpor.dev/mark": text, "torpor.dev/mark-result": result}}}
    )


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("succeeded load because the file came by mail", None),
        ("succeeded load/3,load/4,report because x", '{"rows": 3}'),
        ("skipped load/2.0.1.9 because \u00fc", None),
        ("failed report because of it: because", None),
    ],
)
def test_instances_may_be_marked(server: Server, running: str, text: str, result: str | None) -> None:
    annotate(server, running, text, result).expect(200)
    annotate(server, running, None).expect(200)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("text", "result", "said"),
    [
        ("done load because x", None, 'must be "STATE INSTANCES because TEXT"'),
        ("succeeded load", None, "must be"),
        ("succeeded load because ", None, "must be"),
        ("succeeded load because x\nskipped report because y", None, "must be"),
        ("succeeded load[3] because x", None, "must be"),
        ("succeeded failed because x", None, "torpor.dev/mark names failed: no such task; tasks: load, report"),
        ("skipped load because x", "1", "needs torpor.dev/mark"),
        (None, "1", "must be"),
        ("succeeded load because x", "1" * 5000, "4,095 characters"),
        ("succeeded load because " + "x" * 5000, None, "4,095 characters"),
    ],
)
def test_an_invalid_mark_is_rejected(
    server: Server, running: str, text: str | None, result: str | None, said: str
) -> None:
    answer = annotate(server, running, text, result)
    assert answer.status == 422, answer.message
    assert "torpor-mark" in answer.message
    assert said in answer.message


def test_a_new_workflow_has_nothing_to_mark(server: Server, namespace: str) -> None:
    answer = server.create("workflows", namespace, workflow(**{"torpor.dev/mark": "skipped load because x"}))
    assert answer.status == 422
    assert "nothing to mark" in answer.message


@pytest.mark.attack
def test_a_mark_names_the_user_who_asks_for_it(server: Server, namespace: str) -> None:
    editor = Editor(server, namespace)

    def ask(by: str, **annotations: str) -> Answer:
        patch = {"metadata": {"annotations": {"torpor.dev/changed-by": by, **annotations}}}
        path = f"/apis/torpor.dev/v1alpha1/namespaces/{namespace}/workflows/run"
        kind = "application/merge-patch+json"
        return server.request("PATCH", path, patch, token=editor.token, content_type=kind)

    mark = {"torpor.dev/mark": "skipped load because x"}
    assert ask("mark bob", **mark).status == 403
    assert ask(f"mark {editor.user}").status == 403
    ask(f"mark {editor.user}", **mark).expect(200)


def _marked(server: Server, namespace: str, state: str | None) -> transitions.Pin:
    spec: dict[str, Any] = {"workflow": {"name": "run", "uid": "u"}, "task": "task", "image": "x", "container": {}}
    if state is not None:
        spec["mark"] = {"state": state, "because": "x", "by": "ann", "result": "1"}
    body = manifest("TaskRun", "one", spec)
    server.create("taskruns", namespace, body).expect(201)
    return taskrun.parse(server.request("GET", _RUN.format(namespace, "one")).expect(200)).pin()


@pytest.mark.attack
@pytest.mark.parametrize("state", ["Succeeded", "Skipped", "Failed"])
def test_a_marked_taskrun_runs_nothing_and_ends_in_its_state(server: Server, namespace: str, state: str) -> None:
    pin, now = _marked(server, namespace, state), time.time()
    wait = trigger.build("time", {"at": "2030-01-01T00:00:00Z"}, namespace="a", pool="b", now=now)
    refused = [
        transitions.claim(pin, transitions.Claim("p", "u", "n"), started=None, now=now),
        transitions.defer(pin, wait, resume=None, deadline=None, now=now),
        transitions.fail(pin, retry.Policy(limit=5), reason=Reason.ERROR, message="no", now=now),
        *(
            transitions.mark(pin, State(other), result=None, message="m", now=now)
            for other in ("Succeeded", "Skipped", "Failed")
            if other != state
        ),
    ]
    for patch in refused:
        answer = server.patch_status(namespace, "one", patch)
        assert answer.status == 422, answer.message
        assert f"this TaskRun is marked: it runs nothing, and can only become {state}" in answer.message
    result = "1" if state == "Succeeded" else None
    server.patch_status(
        namespace, "one", transitions.mark(pin, State(state), result=result, message="m", now=now)
    ).expect(200)


@pytest.mark.attack
@pytest.mark.parametrize("state", ["Succeeded", "Skipped"])
def test_a_taskrun_that_is_not_marked_does_not_end_before_it_runs(server: Server, namespace: str, state: str) -> None:
    pin = _marked(server, namespace, None)
    patch = transitions.mark(pin, State(state), result=None, message="m", now=time.time())
    answer = server.patch_status(namespace, "one", patch)
    assert answer.status == 422
    assert "only a marked TaskRun can change from Scheduled to" in answer.message
