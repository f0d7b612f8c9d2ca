"""The file of a local run, as an API server would store its objects."""

from pathlib import Path

import pytest
from torpor_cli import errors
from torpor_cli.local_run import workflow_file
from torpor_cli.local_run.workflow_file import InvalidFile

_FILE = """\
apiVersion: torpor.dev/v1alpha1
kind: Workflow
metadata: {name: run, labels: }
spec:
  image: any:1
  parallelism:
  tasks:
  - name: one
    after:
    trigger:
    rule:
    retries: {limit: 1.0, delay: }
    args: {value: null}
    python: "m:f"
"""


def test_empty_fields_have_their_defaults_and_arguments_keep_their_nulls(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(_FILE)
    file = workflow_file.read(str(path))
    assert not isinstance(file, InvalidFile)
    spec = file.spec()
    assert (spec["parallelism"], spec["triggerPool"]) == (50, "default")
    assert spec["tasks"] == [
        {
            "name": "one",
            "rule": "all_success",
            "retries": {"limit": 1},
            "args": {"value": None},
            "python": "m:f",
            "branch": False,
            "timeoutWhileDeferred": True,
        }
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rulee: always", 'unknown field "spec.tasks[0].rulee"; did you mean "rule"?'),
        ("branch: 5", "spec.tasks[0].branch in body must be of type boolean"),
    ],
)
def test_a_field_that_an_api_server_refuses_is_refused_with_its_sentence(
    tmp_path: Path, line: str, expected: str
) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(_FILE.replace("rule:", line))
    invalid = workflow_file.read(str(path))
    assert isinstance(invalid, InvalidFile)
    assert expected in "\n".join(invalid.lines)


def test_an_invalid_config_map_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(f'{_FILE}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: code}}\ndata: {{"a/b": ""}}\n')
    with pytest.raises(errors.CliError, match=r"run\.yaml: ConfigMap code is invalid: data\[a/b\]"):
        workflow_file.read(str(path))
