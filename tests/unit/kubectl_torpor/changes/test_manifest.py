import io
from pathlib import Path

import pytest
from kubectl_torpor.changes import manifest
from kubectl_torpor.errors import CliError
from kubectl_torpor.linting import yaml_documents

_WORKFLOW = """
apiVersion: torpor.dev/v1alpha1
kind: Workflow
metadata: {generateName: x-}
spec: {params: {day: 2026-11-20, limit: 1}, tasks: []}
"""


def written(folder: Path, text: str) -> str:
    path = folder / "x.yaml"
    path.write_text(text)
    return str(path)


def test_a_date_is_a_string_as_it_is_for_kubectl(tmp_path: Path) -> None:
    (found,) = manifest.read(written(tmp_path, _WORKFLOW))
    assert found["spec"]["params"] == {"day": "2026-11-20", "limit": 1}


def test_scalars_and_keys_are_read_as_kubectl_and_lint_read_them(tmp_path: Path) -> None:
    text = """
a: &a {n: 1, "n": off, 3: 0o17, y: 12:30}
b: {<<: *a, f: 1.5, g: , h: !!str 2, "<<": "yes"}
"""
    (found,) = yaml_documents.read(text)
    assert isinstance(found, yaml_documents.Document)
    path = written(tmp_path, text)
    assert manifest.mapping(path) == found.value
    assert found.value["a"] == {"false": 1, "n": False, "3": 15, "true": "12:30"}


def test_a_file_may_have_several_documents(tmp_path: Path) -> None:
    assert len(manifest.read(written(tmp_path, f"---{_WORKFLOW}---{_WORKFLOW}---\n"))) == 2


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(_WORKFLOW))
    assert len(manifest.read("-")) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: ConfigMap\napiVersion: v1\n", "document 1 is v1 ConfigMap; `torpor submit` takes"),
        ("a: b\n", "document 1 has no apiVersion or no kind"),
        ("- a\n", "document 1 is not a mapping"),
        ("a: {b\nc: d\n", r"x\.yaml:2:2: invalid YAML"),
        ("", "has no documents"),
        ("kind: Workflow\napiVersion: torpor.dev/v1alpha1\nspec: {}\n", "document 1 has no metadata"),
        ("!!python/object/apply:os.system [id]", "invalid YAML"),
    ],
)
def test_what_is_no_workflow_is_one_line_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CliError, match=message) as raised:
        manifest.read(written(tmp_path, text))
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(CliError, match=r"no/such\.yaml cannot be read: No such file"):
        manifest.read("no/such.yaml")
