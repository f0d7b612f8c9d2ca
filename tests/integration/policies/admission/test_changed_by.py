"""The annotation torpor.dev/changed-by: only the user who makes the change, and only for this change."""

from typing import Any

import pytest

from tests.integration.conftest import Answer, Server
from tests.support.manifests import manifest

_PATH = "/apis/torpor.dev/v1alpha1/namespaces/{}/workflows/run"
_RBAC = "rbac.authorization.k8s.io"
_KEY = "torpor.dev/changed-by"


def workflow(**annotations: str) -> dict[str, Any]:
    return manifest(
        "Workflow", "run", {"tasks": [{"name": "load", "python": "m:f", "image": "x"}]}, annotations=annotations
    )


class Editor:
    """A user with ClusterRole edit in a namespace with a Workflow of generation 1."""

    def __init__(self, server: Server, namespace: str) -> None:
        self.server, self.namespace = server, namespace
        metadata = {"name": "ann", "namespace": namespace}
        server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        server.apply(
            {
                "apiVersion": f"{_RBAC}/v1",
                "kind": "RoleBinding",
                "metadata": metadata,
                "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "edit"},
                "subjects": [{"kind": "ServiceAccount", "name": "ann", "namespace": namespace}],
            }
        )
        rule = {"apiGroups": ["torpor.dev"], "resources": ["workflows"], "verbs": ["*"]}
        server.apply({"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": [rule]})
        server.apply(
            {
                "apiVersion": f"{_RBAC}/v1",
                "kind": "RoleBinding",
                "metadata": metadata | {"name": "ann-workflows"},
                "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": "ann"},
                "subjects": [{"kind": "ServiceAccount", "name": "ann", "namespace": namespace}],
            }
        )
        server.create("workflows", namespace, workflow()).expect(201)
        self.token = server.token(namespace, "ann")
        self.user = f"system:serviceaccount:{namespace}:ann"

    def merge(self, by: str, *, clear: str | None = None, spec: dict[str, Any] | None = None) -> Answer:
        annotations = {_KEY: by} | ({"torpor.dev/clear": clear} if clear else {})
        patch: dict[str, Any] = {"metadata": {"annotations": annotations}} | ({"spec": spec} if spec else {})
        path = _PATH.format(self.namespace)
        kind = "application/merge-patch+json"
        return self.server.request("PATCH", path, patch, token=self.token, content_type=kind)


@pytest.fixture
def editor(server: Server, namespace: str) -> Editor:
    return Editor(server, namespace)


def test_a_user_signs_a_change_of_the_spec(editor: Editor) -> None:
    editor.merge(f"2 {editor.user}", spec={"suspend": True}).expect(200)
    editor.merge(f"3 {editor.user}", spec={"suspend": False}).expect(200)


def test_a_user_signs_a_clear_request(editor: Editor) -> None:
    editor.merge(f"clear {editor.user}", clear="load").expect(200)


@pytest.mark.parametrize("by", ["2 alice", "1 {}", "3 {}", "{}", "clear {}", "2 {} "])
def test_another_name_or_generation_is_rejected(editor: Editor, by: str) -> None:
    answer = editor.merge(by.format(editor.user), spec={"suspend": True})
    assert answer.status == 403
    assert f'can only be "2 {editor.user}"' in answer.message


def test_a_signed_workflow_can_change_without_a_signature(editor: Editor) -> None:
    editor.merge(f"2 {editor.user}", spec={"suspend": True}).expect(200)
    path, kind = _PATH.format(editor.namespace), "application/merge-patch+json"
    patch = {"spec": {"suspend": False}}
    editor.server.request("PATCH", path, patch, token=editor.token, content_type=kind).expect(200)


def test_a_new_workflow_cannot_name_a_later_user(editor: Editor) -> None:
    body = workflow(**{_KEY: "2 alice"})
    body["metadata"]["name"] = "other"
    answer = editor.server.request(
        "POST", _PATH.format(editor.namespace).removesuffix("/run"), body, token=editor.token
    )
    assert answer.status == 403


def test_an_administrator_can_restore_a_backup(server: Server, namespace: str) -> None:
    server.create("workflows", namespace, workflow(**{_KEY: "7 alice"})).expect(201)
