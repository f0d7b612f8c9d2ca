"""The API server evaluates policy torpor-params for each template: a quota limits them where the policy is asked."""

from itertools import takewhile

import yaml

from tests.integration.conftest import ROOT, Server, collection, eventually
from tests.support.templates import cases

_LIMIT = 100
_MISFIT = {"unknown": 1}


def test_a_namespace_holds_at_most_a_hundred_templates(server: Server, namespace: str) -> None:
    quota = (ROOT / "manifests/namespace/template-quota.yaml").read_text()
    server.apply(yaml.safe_load(quota.replace("namespace: workflows", f"namespace: {namespace}")))
    path = f"/api/v1/namespaces/{namespace}/resourcequotas/torpor-templates"
    eventually(lambda: bool(server.request("GET", path).expect(200)["status"].get("used")), "the quota counts")
    answers = (
        server.create("workflowtemplates", namespace, cases.template(name=f"t{number}")) for number in range(_LIMIT + 5)
    )
    created = list(takewhile(lambda answer: answer.status == 201, answers))
    assert len(created) == _LIMIT
    last = server.create("workflowtemplates", namespace, cases.template(name="last"))
    assert last.status == 403
    assert "exceeded quota: torpor-templates" in last.message


def test_a_namespace_without_the_label_does_not_ask_its_templates(server: Server, namespace: str) -> None:
    server.create("workflowtemplates", namespace, cases.template()).expect(201)
    eventually(lambda: _create(server, namespace) == 422, "the policy is asked in a namespace with the label")
    patch = {"metadata": {"labels": {"torpor.dev/check-params": None}}}
    path = f"/api/v1/namespaces/{namespace}"
    server.request("PATCH", path, patch, content_type="application/merge-patch+json").expect(200)
    eventually(lambda: _create(server, namespace) == 201, "the policy is not asked without the label")


def _create(server: Server, namespace: str) -> int:
    path = collection("workflows", namespace)
    return server.request("POST", path, cases.run(_MISFIT), dryRun="All").status
