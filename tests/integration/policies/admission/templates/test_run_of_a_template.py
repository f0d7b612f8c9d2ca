"""What the policies reject in a run of a template, and the copy that only the operator makes."""

from typing import Any

import pytest
import yaml

from tests.integration.conftest import Answer, Server, eventually
from tests.support.builders import Body
from tests.support.templates import cases as template_cases
from tests.support.templates.cases import DATE, FITS, MISFITS

_TRIGGER = {"name": "a", "trigger": {"class": "time"}}
_PARENT = {"workflow": "outer", "taskRun": "outer-a-1", "uid": "u", "depth": 1, "root": "r"}
_EVENT = {"schedule": "nightly", "uid": "u", "at": "2026-11-20T02:00:00Z"}


@pytest.fixture
def templated(server: Server, namespace: str) -> str:
    """A namespace with template nightly, which the policy has seen."""
    server.create("workflowtemplates", namespace, template_cases.template()).expect(201)
    eventually(lambda: create(server, namespace, template_cases.run({}), dry=True).status == 422, "the params policy")
    return namespace


@pytest.fixture
def editor(server: Server, namespace: str) -> str:
    """The token of a user with role `edit` in the namespace."""
    for document in yaml.safe_load_all(_EDITOR.replace("NAMESPACE", namespace)):
        server.apply(document)
    token = server.token(namespace, "editor")
    body = template_cases.run(DATE, template="other")
    eventually(lambda: create(server, namespace, body, token=token, dry=True).status == 201, "the role")
    return token


_EDITOR = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: editor, namespace: NAMESPACE}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: editor, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: torpor-edit}
subjects: [{kind: ServiceAccount, name: editor, namespace: NAMESPACE}]
"""


def create(server: Server, namespace: str, body: Body, *, token: str | None = None, dry: bool = False) -> Answer:
    query: dict[str, Any] = {"dryRun": "All"} if dry else {}
    return server.create("workflows", namespace, body, **query | ({"token": token} if token else {}))


def change(server: Server, namespace: str, spec: Body, *, token: str | None = None, name: str = "run") -> Answer:
    path = f"/apis/torpor.dev/v1alpha1/namespaces/{namespace}/workflows/{name}"
    patch = {"spec": spec}
    return server.request("PATCH", path, patch, token=token, content_type="application/merge-patch+json")


def test_params_that_fit_are_admitted(server: Server, templated: str) -> None:
    for case, given in FITS.items():
        answer = create(server, templated, template_cases.run(given), dry=True)
        assert answer.status == 201, f"{case}: {answer.message}"


def test_params_that_do_not_fit_are_rejected_with_the_operators_message(server: Server, templated: str) -> None:
    for case, (given, message) in MISFITS.items():
        answer = create(server, templated, template_cases.run(given), dry=True)
        assert answer.status == 422, case
        assert answer.body["reason"] == "Invalid"
        assert message in answer.message, case


def test_the_template_decides_by_its_name(server: Server, templated: str) -> None:
    other = template_cases.template([{"name": "other"}], name="other")
    server.create("workflowtemplates", templated, other).expect(201)
    run = template_cases.run({"dat": 1}, template="other")
    message = "unknown param dat; params of template other: other"
    eventually(lambda: message in create(server, templated, run, dry=True).message, "the other template")


def test_a_run_of_a_template_that_does_not_exist_yet_is_admitted(server: Server, templated: str) -> None:
    create(server, templated, template_cases.run({"x": 1}, template="later")).expect(201)


def test_an_edit_of_the_template_counts_for_the_next_run(server: Server, templated: str) -> None:
    path = f"/apis/torpor.dev/v1alpha1/namespaces/{templated}/workflowtemplates/nightly"
    patch = {"spec": {"params": [{"name": "day"}]}}
    server.request("PATCH", path, patch, content_type="application/merge-patch+json").expect(200)
    run = template_cases.run({"day": "x"})
    eventually(lambda: create(server, templated, run, dry=True).status == 201, "the edit")


def test_params_of_a_run_that_has_not_started_can_change(server: Server, templated: str) -> None:
    create(server, templated, template_cases.run(DATE, suspend=True)).expect(201)
    change(server, templated, {"params": {"region": "us"}}).expect(200)
    assert "a param cannot be removed" in change(server, templated, {"params": {"date": None}}).message


def test_the_policy_stays_within_its_cost_for_the_most_params(server: Server, namespace: str) -> None:
    enum = [f"value-{n}" for n in range(100)]
    params: list[Body] = [{"name": f"p{n}", "enum": enum, "pattern": "[a-z]+-[0-9]+"} for n in range(63)]
    server.create("workflowtemplates", namespace, template_cases.template(params)).expect(201)
    good = {f"p{n}": enum[-1] for n in range(63)}
    message = 'param p62 must be one of "value-0", '
    run = template_cases.run(good | {"p62": "x"})
    eventually(lambda: message in create(server, namespace, run, dry=True).message, "the params policy")
    create(server, namespace, template_cases.run(good)).expect(201)


@pytest.mark.parametrize(
    "fields", [{"tasks": [_TRIGGER]}, {"image": "x", "timeout": "1h"}, {"parallelism": 3}, {"cancel": True}], ids=str
)
def test_other_fields_beside_the_template_are_rejected(
    server: Server, namespace: str, editor: str, fields: Body
) -> None:
    answer = create(server, namespace, template_cases.run(DATE, **fields), token=editor)
    assert answer.status == 422, answer.message
    assert "a run of a template sets only params and suspend, the rest is the template's: remove " in answer.message
    assert all(f"spec.{name}, " in answer.message for name in fields)
    assert answer.message.endswith(", or templateRef")


def test_a_user_may_set_params_and_suspend(server: Server, namespace: str, editor: str) -> None:
    create(server, namespace, template_cases.run(DATE, suspend=True), token=editor).expect(201)


def test_only_the_operator_sets_the_event(server: Server, namespace: str, editor: str) -> None:
    answer = create(server, namespace, template_cases.run(DATE, runOf=_EVENT), token=editor)
    assert answer.status == 403
    assert "only the operator can set it: remove spec.runOf" in answer.message
    operator = server.token("torpor-system", "torpor-operator")
    create(server, namespace, template_cases.run(DATE, runOf=_EVENT), token=operator).expect(201)


def test_only_the_operator_sets_the_parent(server: Server, namespace: str, editor: str) -> None:
    answer = create(server, namespace, template_cases.run(DATE, parent=_PARENT), token=editor)
    assert answer.status == 403
    assert "only the operator can set it: remove spec.parent" in answer.message
    operator = server.token("torpor-system", "torpor-operator")
    create(server, namespace, template_cases.run(DATE, parent=_PARENT), token=operator).expect(201)
    moved = change(server, namespace, {"parent": {"depth": 0}}, token=operator)
    assert "spec.parent cannot change" in moved.message


@pytest.mark.attack
def test_only_the_operator_moves_a_run_to_another_taskrun(server: Server, namespace: str, editor: str) -> None:
    operator = server.token("torpor-system", "torpor-operator")
    create(server, namespace, template_cases.run(DATE, parent=_PARENT), token=operator).expect(201)
    again = {"parent": {"uid": "v", "attempt": 1, "clears": 2}}
    refused = change(server, namespace, again, token=editor)
    assert refused.status == 422, refused.message
    assert "spec.parent cannot change" in refused.message
    change(server, namespace, again, token=operator).expect(200)
    refused = change(server, namespace, {"parent": {"uid": "w", "workflow": "another"}}, token=operator)
    assert "spec.parent cannot change" in refused.message


@pytest.mark.attack
@pytest.mark.parametrize("version", [{"uid": "x"}, {"generation": 1}], ids=["uid", "generation"])
def test_only_the_operator_names_the_version_of_a_body(
    server: Server, namespace: str, editor: str, version: Body
) -> None:
    task = {"name": "a", "use": {"template": "platform", "body": "b"} | version, "image": "x", "container": {}}
    body = template_cases.run({}) | {"spec": {"tasks": [task]}}
    answer = create(server, namespace, body, token=editor)
    assert answer.status == 403
    assert "use.uid and use.generation of a task are the version of the template" in answer.message


def test_the_event_and_the_template_of_a_run_cannot_change(server: Server, namespace: str) -> None:
    create(server, namespace, template_cases.run(DATE, runOf=_EVENT)).expect(201)
    moved = change(server, namespace, {"runOf": {"at": "2026-11-21T02:00:00Z"}})
    assert "spec.runOf cannot change" in moved.message
    assert "spec.templateRef cannot change" in change(server, namespace, {"templateRef": {"name": "x"}}).message
    copied = change(server, namespace, {"tasks": [_TRIGGER], "runOf": {"at": "2026-11-21T02:00:00Z"}})
    assert copied.status == 422
    assert "spec.runOf" in copied.message


def test_a_user_cannot_give_a_run_the_copy(server: Server, namespace: str, editor: str) -> None:
    create(server, namespace, template_cases.run(DATE)).expect(201)
    answer = change(server, namespace, {"tasks": [_TRIGGER]}, token=editor)
    assert answer.status == 422
    assert "spec.tasks cannot change before the run has copied its template" in answer.message
    for spec in ({"image": "x"}, {"parallelism": 3}):
        message = "cannot change before the run has copied its template. Only suspend, stop, cancel and params can"
        assert message in change(server, namespace, spec, token=editor).message
    change(server, namespace, {"suspend": True, "params": {"region": "us"}}, token=editor).expect(200)


def test_the_operator_copies_the_template_once(server: Server, namespace: str) -> None:
    operator = server.token("torpor-system", "torpor-operator")
    create(server, namespace, template_cases.run(DATE)).expect(201)
    copied = {"tasks": [_TRIGGER], "image": "x", "parallelism": 3, "timeout": "1h", "params": {"bucket": "raw"}}
    change(server, namespace, copied, token=operator).expect(200)
    answer = change(server, namespace, {"tasks": [_TRIGGER | {"name": "b"}], "timeout": "2h"}, token=operator)
    assert "spec.timeout cannot change: a Workflow is one run" in answer.message


def test_the_copy_is_validated_like_a_new_run(server: Server, namespace: str) -> None:
    operator = server.token("torpor-system", "torpor-operator")
    create(server, namespace, template_cases.run(DATE)).expect(201)
    answer = change(server, namespace, {"tasks": [_TRIGGER | {"after": ["b"]}]}, token=operator)
    assert "task a: `after` names b: no such task or group" in answer.message


def test_a_clear_of_a_run_without_tasks_is_rejected_with_a_sentence(server: Server, namespace: str) -> None:
    create(server, namespace, template_cases.run(DATE)).expect(201)
    path = f"/apis/torpor.dev/v1alpha1/namespaces/{namespace}/workflows/run"
    patch = {"metadata": {"annotations": {"torpor.dev/clear": "a"}}}
    answer = server.request("PATCH", path, patch, content_type="application/merge-patch+json")
    assert "torpor.dev/clear names a: no such task; tasks: none" in answer.message
