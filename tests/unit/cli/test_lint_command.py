"""`torpor lint`: files, formats and exit codes."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from torpor_cli.__main__ import main

_GOOD = """\
apiVersion: torpor.dev/v1alpha1
kind: Workflow
metadata:
  generateName: good-
spec:
  tasks:
  - name: pause
    trigger: {class: duration, kwargs: {duration: 10m}}
"""
_BAD = f"""\
# Two documents and a list.
{_GOOD}---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {{name: other}}
- apiVersion: torpor.dev/v1alpha1
  kind: Workflow
  metadata: {{name: bad}}
  spec:
    tasks:
    - name: pause
      retires: {{limit: 1}}
      trigger: {{class: custom}}
    - name: next
      after: [pause, "lost\x1b[31m"]
      trigger: {{class: duration, kwargs: {{duration: 10m}}}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "good.yaml").write_text(_GOOD)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "bad.yml").write_text(_BAD.replace("\x1b", "\\e"))
    (tmp_path / "notes.txt").write_text("a: [")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_good_file_is_clean(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "good.yaml"]) == 0
    assert capsys.readouterr() == ("", "1 file: 1 workflow, 0 errors, 0 warnings\n")
    assert folder.exists()


@pytest.mark.usefixtures("folder")
def test_findings_have_a_place_in_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "-R", "."]) == 1
    out, err = capsys.readouterr()
    assert [line.split(" ")[:2] for line in out.splitlines()] == [
        ["deep/bad.yml:23:7:", "error:"],
        ["deep/bad.yml:24:17:", "warning:"],
        ["deep/bad.yml:26:7:", "error:"],
        ["deep/bad.yml:26:22:", "error:"],
    ]
    assert 'unknown field "spec.tasks[0].retires"; did you mean "retries"? [unknown-field]' in out
    assert "\x1b" not in out
    assert err == "2 files: 3 workflows, 3 errors, 1 warning\n"


@pytest.mark.usefixtures("folder")
def test_a_folder_without_r_is_not_searched_deeper(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "."]) == 0
    assert capsys.readouterr().err == "1 file: 1 workflow, 0 errors, 0 warnings\n"


@pytest.mark.usefixtures("folder")
def test_github_shows_each_finding_at_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "-o", "github", "deep/bad.yml"]) == 1
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("::error file=deep/bad.yml,line=23,col=7,title=torpor unknown-field::unknown field")
    assert second.startswith("::warning file=deep/bad.yml,line=24,col=17,title=torpor trigger::")


def test_github_escapes_what_would_end_a_property(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a,b:c%.yaml").write_text(_GOOD.replace("10m", "10%"))
    assert main(["lint", "-o", "github", "a,b:c%.yaml"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("::error file=a%2Cb%3Ac%25.yaml,line=8,col=32,title=torpor trigger::")
    assert "'10%25' is not a duration" in line


@pytest.mark.usefixtures("folder")
def test_json_has_the_same_findings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "-o", "json", "deep/bad.yml"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["files"], document["workflows"], document["errors"], document["warnings"]) == (1, 2, 3, 1)
    assert {key: document["findings"][0][key] for key in ("file", "line", "column", "severity", "rule", "path")} == {
        "file": "deep/bad.yml",
        "line": 23,
        "column": 7,
        "severity": "error",
        "rule": "unknown-field",
        "path": "spec.tasks[0].retires",
    }


def test_standard_input_is_read(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(_GOOD.replace("10m", "soon").encode())))
    assert main(["lint", "-"]) == 1
    assert capsys.readouterr().out.startswith("<stdin>:8:32: error: ")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a: [1}", "1:6: error: "),
        (b"\xff\xfe", "1:1: error: the file is not UTF-8"),
        (b"kind: ConfigMap", "1:1: warning: the file has no Workflow"),
        (b"", "1:1: warning: the file has no Workflow"),
        (b"kind: Workflow\nspec: {}", "1:1: error: apiVersion is missing"),
        (b"apiVersion: torpor.dev/v1\nkind: Workflow", '1:1: error: no matches for kind "Workflow" in version'),
        (b"apiVersion: torpor.dev/v1alpha1\nkind: Wrokflow", 'did you mean "Workflow"?'),
        (b"apiVersion: argoproj.io/v1alpha1\nkind: Workflow", "warning: the file has no Workflow"),
        (b"apiVersion: torpor.dev/v1alpha1\nkind: Workflow\nspec: 5", "must be of type object"),
        (b"apiVersion: torpor.dev/v1alpha1\nkind: Workflow\nmetadata: x\nspec: {tasks: 1}", "name or generateName"),
    ],
)
def test_files_of_any_content_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, expected: str
) -> None:
    (tmp_path / "file.yaml").write_bytes(content)
    assert main(["lint", str(tmp_path / "file.yaml")]) == (0 if "warning" in expected else 1)
    assert expected in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "Missing argument 'FILE...'"),
        (["missing.yaml"], "missing.yaml: No such file or directory"),
        (["deep", "--trigger", "x"], "--trigger x: write NAME=MODULE:CLASS"),
        (["-o", "xml", "good.yaml"], "'xml' is not one of"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_usage_errors_have_exit_code_2(capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str) -> None:
    assert main(["lint", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert expected in err


def test_without_compiled_packages_the_error_says_what_to_do() -> None:
    code = "import sys; sys.modules['pydantic_core'] = None; from torpor_cli.__main__ import main; sys.exit(main())"
    ended = subprocess.run([sys.executable, "-c", code, "lint", "x"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)
    assert "lint needs the package pydantic_core, which is not compiled for Python 3." in ended.stderr


_NIGHTLY = """\
apiVersion: torpor.dev/v1alpha1
kind: Schedule
metadata: {name: nightly}
spec:
  templateRef: {name: ingest}
  sources: [{name: nightly, cron: "0 25 * * *"}]
"""


def test_the_other_kinds_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "nightly.yaml").write_text(_NIGHTLY)
    assert main(["lint", "nightly.yaml"]) == 1
    out, err = capsys.readouterr()
    message = 'source nightly: cron "0 25 * * *": 25 is not valid for the hour [policy]'
    assert out == f"nightly.yaml:6:29: error: {message}\n"
    assert err == "1 file: 1 object, 1 error, 0 warnings\n"
    (folder / "both.yaml").write_text(f"{_GOOD}---\n{_NIGHTLY}".replace(" 25 ", " 2 "))
    assert main(["lint", "both.yaml"]) == 0
    assert capsys.readouterr().err == "1 file: 1 workflow, 1 other object, 0 errors, 0 warnings\n"
    main(["lint", "-o", "json", "both.yaml"])
    document = json.loads(capsys.readouterr().out)
    assert (document["workflows"], document["others"]) == (1, 1)
