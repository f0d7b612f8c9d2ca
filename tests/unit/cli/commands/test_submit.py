"""`torpor submit` against an API server that rejects what it is sent."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torpor_cli.__main__ import main

from tests.unit.cli.cluster.scripted_server import ScriptedResponse, scripted_server

_WORKFLOW = "{apiVersion: torpor.dev/v1alpha1, kind: Workflow, metadata: {name: x}, spec: {taks: []}}"
_STRICT = 'strict decoding error: unknown field "spec.taks"'
_DENIED = "ValidatingAdmissionPolicy 'torpor-workflows' denied request: spec.tasks has a cycle"
Submit = Callable[..., tuple[int, str]]


@pytest.fixture
def submit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Submit:
    """Submits files to a server that answers each creation so: exit code and standard error."""

    def run(code: int, reason: str, message: str, *files: str, details: Any = None) -> tuple[int, str]:
        body = {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details or {}}
        with scripted_server(lambda _: ScriptedResponse(status=code, body=body)) as server:
            path = tmp_path / "kubeconfig"
            named = {"name": "fake", "context": {"cluster": "fake", "user": "ann", "namespace": "team"}}
            content = {"current-context": "fake", "contexts": [named]}
            content["clusters"] = [{"name": "fake", "cluster": {"server": server.url}}]
            content["users"] = [{"name": "ann", "user": {"token": "t0ken"}}]
            path.write_text(json.dumps(content))
            monkeypatch.setenv("KUBECONFIG", str(path))
            monkeypatch.setenv("NO_PROXY", "*")
            ended = main(["submit", *files])
        return ended, capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("answer", "details"),
    [
        ((400, "BadRequest", _STRICT), None),
        ((422, "Invalid", _STRICT), {"causes": [{"field": "spec"}]}),
        ((403, "Forbidden", _DENIED), None),
    ],
)
def test_a_rejected_file_is_named_with_a_hint_at_lint(
    submit: Submit, tmp_path: Path, answer: tuple[int, str, str], details: Any
) -> None:
    file = tmp_path / "typo.yaml"
    file.write_text(_WORKFLOW)
    ended, err = submit(*answer, str(file), details=details)
    assert (ended, err) == (1, f"torpor: {file}: {answer[2]}; `torpor lint {file}` shows where\n")


def test_standard_input_is_named_as_well(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(_WORKFLOW))
    _, err = submit(400, "BadRequest", _STRICT, "-")
    assert err == f"torpor: standard input: {_STRICT}; `torpor lint -` shows where\n"


def test_a_missing_right_is_no_error_of_the_file(submit: Submit, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(_WORKFLOW)
    _, err = submit(403, "Forbidden", 'workflows.torpor.dev is forbidden: User "ann" cannot create', str(file))
    assert "ask for ClusterRole" in err
    assert "lint" not in err


def test_a_param_that_one_of_several_documents_lacks_names_the_document(submit: Submit, tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    other = _WORKFLOW.replace("taks: []", "params: {x: 1}")
    file.write_text(f"{other}\n---\n{_WORKFLOW}\n")
    ended, err = submit(500, "InternalError", "unused", str(file), "-p", "x=2")
    assert ended == 2
    assert err == f"torpor: {file}, document 2: there is no param 'x'; spec.params has none\n"
