"""What manifests/components/ui adds to the base: a Deployment without any right, which an Ingress can reach."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_ui.settings import PageSettings

_MANIFESTS = Path(__file__).resolve().parents[3] / "manifests"
pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl builds it")


@pytest.fixture
def documents(tmp_path: Path) -> list[dict[str, Any]]:
    base, component = (os.path.relpath(_MANIFESTS / part, tmp_path) for part in ("base", "components/ui"))
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump({"resources": [base], "components": [component]}))
    built = subprocess.run(["kubectl", "kustomize", tmp_path], capture_output=True, text=True, check=True)
    return [*yaml.safe_load_all(built.stdout)]


def named(documents: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    found = [each for each in documents if each["kind"] == kind and each["metadata"]["name"] == "torpor-ui"]
    assert len(found) == 1
    return found[0]


@pytest.mark.attack
def test_no_right_belongs_to_the_account_of_the_page(documents: list[dict[str, Any]]) -> None:
    bindings = [each for each in documents if each["kind"] in {"RoleBinding", "ClusterRoleBinding"}]
    accounts = {subject["name"] for binding in bindings for subject in binding["subjects"]}
    assert "torpor-ui" not in accounts
    assert named(documents, "ServiceAccount")["automountServiceAccountToken"] is False


@pytest.mark.attack
def test_the_pod_of_the_page_has_no_token_and_cannot_write(documents: list[dict[str, Any]]) -> None:
    pod = named(documents, "Deployment")["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert not any("projected" in volume for volume in pod["volumes"])
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert all(mount["readOnly"] for mount in container["volumeMounts"])


@pytest.mark.attack
def test_only_a_labelled_namespace_connects_to_the_page(documents: list[dict[str, Any]]) -> None:
    (rule,) = named(documents, "NetworkPolicy")["spec"]["ingress"]
    assert rule["from"] == [{"namespaceSelector": {"matchLabels": {"torpor.dev/page": "true"}}}]
    assert [port["port"] for port in rule["ports"]] == ["page"]


def test_the_arguments_of_the_page_are_flags_that_it_knows(documents: list[dict[str, Any]]) -> None:
    (container,) = named(documents, "Deployment")["spec"]["template"]["spec"]["containers"]
    settings = PageSettings.parse(container["args"], named(documents, "ConfigMap")["data"])
    assert (settings.mode, settings.url, settings.secure) == ("token", "https://torpor.example.org", True)


@pytest.mark.attack
@pytest.mark.parametrize(
    "arguments",
    [
        ["--mode=proxy"],
        ["--mode=oidc"],
        ["--mode=token", "--url=http://torpor.example.org"],
        ["--mode=token", "--url=javascript:x"],
        ["--mode=oidc", "--oidc-client-id=x", "--oidc-issuer=http://login.example.org"],
        ["--mode=token", "--tls-cert=/x"],
    ],
)
def test_settings_that_would_expose_tokens_are_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        PageSettings.parse(arguments, {"TORPOR_UI_URL": "https://torpor.example.org"})
