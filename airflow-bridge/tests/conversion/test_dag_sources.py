"""The files beside a DAG file reach its pods at their paths: templates, data of factories, and packages."""

import asyncio
import io
import sys
from pathlib import Path
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from converted import ConvertedFile, convert_file, convert_text
from local_play import SECONDS_MAX
from torpor_airflow import source_folder
from torpor_airflow.check import local_runs
from torpor_airflow.conversion import command, dag_file, dag_sources, names
from torpor_airflow.conversion.documents import ConversionTarget
from torpor_airflow.source_folder import SourceFolderError
from torpor_wire import canonical

TARGET = ConversionTarget(image="any:1", pool="airflow", config_map="dags")
DAG = """
from pathlib import Path
import yaml
from airflow.sdk import DAG, BaseOperator
from {package}.sums import total

HERE = Path(__file__).resolve().parent
TABLES = yaml.safe_load((HERE / "conf" / "tables.yaml").read_text())

class QueryOperator(BaseOperator):
    template_fields = ("sql", "scripts")
    template_ext = (".sql",)

    def __init__(self, *, sql, scripts=(), **kwargs):
        super().__init__(**kwargs)
        self.sql, self.scripts = sql, list(scripts)

    def execute(self, context):
        return [self.sql, self.scripts, total(TABLES)]

with DAG("{name}", schedule=None, template_searchpath=str(HERE / "queries"), params={{"day": "monday"}}):
    QueryOperator(task_id="load", sql="sql/load rows.sql", scripts=["check.sql"])
    QueryOperator.partial(task_id="each").expand(sql=["mapped.sql", "SELECT 1"])
"""
FILES = {
    "sql/load rows.sql": "SELECT {% include 'sql/columns.sql' %} FROM {{ params.day }}",
    "sql/columns.sql": "{{ task.task_id }}, 2",
    "queries/check.sql": "SELECT '{{ params.day }}'",
    "queries/mapped.sql": "SELECT {{ ti.map_index }}",
    "conf/tables.yaml": "[1, 2, 3]",
    "unused/notes.txt": "a file that no DAG reads",
}


def write_dag(folder: Path, name: str) -> Path:
    """Write a DAG file, a package of its own, and the files beside it."""
    package = f"{name}_lib"
    files = FILES | {f"{package}/__init__.py": "", f"{package}/sums.py": "def total(rows):\n    return sum(rows)\n"}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    file = folder / f"{name}.py"
    file.write_text(DAG.format(name=name, package=package))
    return file


def test_the_config_map_has_the_files_that_a_dag_needs(tmp_path: Path) -> None:
    name = "dag_with_files"
    converted = convert_file(write_dag(tmp_path, name), options=())
    data = converted.documents["airflow-dags", "ConfigMap"]["data"]
    index = source_folder.parse(data[source_folder.INDEX])
    needed = {*FILES, f"{name}.py", f"{name}_lib/__init__.py", f"{name}_lib/sums.py"} - {"unused/notes.txt"}
    assert {path: data[key] for path, key in index.items()} == {path: (tmp_path / path).read_text() for path in needed}
    assert converted.code == 0
    assert "conf/tables.yaml: note: it is in the ConfigMap airflow-dags, for all who may read it" in converted.report


async def test_a_pod_finds_the_files_at_their_paths(tmp_path: Path, python: str) -> None:
    file = dag_file.read(str(write_dag(tmp_path / "dags", "dag_in_a_pod")))
    ((_, conversion),) = command.convert([file], TARGET)
    documents = [command.config_map("dags", dag_sources.texts([file])), conversion.documents[0]]
    for path in (tmp_path / "dags").rglob("*"):
        if path.is_file():
            path.unlink()
    async with asyncio.timeout(SECONDS_MAX):
        options = local_runs.options(tmp_path / "run", python, {})
        ended = await local_runs.play(conversion, documents, options, {})
    outcome = local_runs.outcome(ended, names.task_names(file.dags[0].task_ids))
    assert outcome.state == "Succeeded", ended
    results = {
        task: {index: each["return_value"] for index, each in found.items()} for task, found in outcome.xcoms.items()
    }
    assert results["load"] == {-1: ["SELECT load, 2 FROM monday", ["SELECT 'monday'"], 6]}
    assert results["each"] == {0: ["SELECT 0", [], 6], 1: ["SELECT 1", [], 6]}


def test_files_are_read_as_utf_8_in_any_locale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dags").mkdir()
    text = READING.format(name="dag_in_ascii", read="TITLE = 'Straßen'")
    (tmp_path / "dags" / "dag_in_ascii.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(io, "text_encoding", lambda encoding, _=2: encoding or "ascii")  # the locale of `LC_ALL=C`
    converted = convert_file(tmp_path / "dags" / "dag_in_ascii.py", options=())
    assert converted.documents["airflow-dags", "ConfigMap"]["data"] == {"dag_in_ascii.py": text}
    for key, content in source_folder.data({"sql/straße.sql": "SELECT 'ß'"}).items():
        (tmp_path / key).write_text(content.replace("\\u00df", "ß"), encoding="utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path])
    source_folder.prepare({"TORPOR_SOURCE": str(tmp_path)})
    assert (tmp_path / "sql" / "straße.sql").read_text(encoding="utf-8") == "SELECT 'ß'"


ONE_OPERATOR = """
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG("{name}", schedule=None, template_searchpath=[{path!r}]):
    BashOperator(task_id="load", bash_command="run.sh")
"""


def convert_operator(folder: Path, name: str, path: str, *options: str) -> ConvertedFile:
    return convert_text(folder, name, ONE_OPERATOR.format(name=name, path=path), options)


def test_a_template_in_another_folder_is_a_loss(tmp_path: Path) -> None:
    dags, other = tmp_path / "dags", tmp_path / "other"
    for folder in (dags, other):
        folder.mkdir()
    (other / "run.sh").write_text("echo 1")
    converted = convert_operator(dags, "dag_far_template", str(other))
    assert converted.code == 1
    line = f"dag_far_template.py:6: not converted: load: template {other}/run.sh: it is not below {dags}"
    assert line in converted.report
    assert convert_operator(dags, "dag_far_template", str(other), "--in-image").code == 0


def test_a_template_without_a_file_is_noted(tmp_path: Path) -> None:
    converted = convert_operator(tmp_path, "dag_without_template", str(tmp_path))
    assert converted.code == 0
    assert "dag_without_template.py:6: note: load: template run.sh: there is no such text" in converted.report


def test_a_file_that_only_a_task_reads_can_be_added(tmp_path: Path) -> None:
    file = write_dag(tmp_path, "dag_with_added_file")
    notes = str(tmp_path / "unused/notes.txt")
    data = convert_file(file, options=("--add-file", notes)).documents["airflow-dags", "ConfigMap"]["data"]
    assert data[source_folder.parse(data[source_folder.INDEX])["unused/notes.txt"]] == FILES["unused/notes.txt"]


@pytest.mark.parametrize(
    ("added", "message"), [("none.txt", "there is no file none.txt"), (__file__, "is not below the folder of the DAG")]
)
def test_an_added_file_has_to_be_below_the_dag_file(tmp_path: Path, added: str, message: str) -> None:
    converted = convert_file(write_dag(tmp_path, f"dag_added_{len(message)}"), options=("--add-file", added))
    assert converted.code == 2
    assert message in converted.report


READING = """
from pathlib import Path
from airflow.sdk import DAG
from airflow.providers.standard.operators.empty import EmptyOperator

{read}
with DAG("{name}", schedule=None):
    EmptyOperator(task_id="a")
"""


@pytest.mark.attack
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("dag_reads_bytes", b"\xff\x00\xfe", "model.bin is not a text: add --in-image"),
        ("dag_reads_much", b"x" * 900_001, "model.bin alone 900,001; a ConfigMap gets 900,000"),
    ],
)
def test_a_config_map_gets_no_binary_and_no_large_file(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / "model.bin").write_bytes(content)
    read = "(Path(__file__).parent / 'model.bin').read_bytes()"
    converted = convert_text(tmp_path, name, READING.format(name=name, read=read), options=())
    assert converted.code == 2
    assert message in converted.report


@pytest.mark.attack
def test_a_link_out_of_the_folder_brings_no_file_into_the_config_map(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("hunter22")
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "link.txt").symlink_to(tmp_path / "secret.txt")
    read = "(Path(__file__).parent / 'link.txt').read_text()"
    converted = convert_text(tmp_path / "dags", "dag_reads_link", READING.format(name="a", read=read), options=())
    assert converted.code == 2
    assert "link.txt is a link out of the folder of the DAG file" in converted.report
    assert converted.documents == {}


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["etl.py", "a-b.sql"], {"etl.py": "etl.py", "a-b.sql": "a-b.sql"}),
        (["sql/a.sql", "sql__a.sql"], {"sql__a.sql": "sql__a.sql", "sql/a.sql": "22222222-sql__a.sql"}),
        (["my file.sql"], {"my file.sql": "my_file.sql"}),
        ([".env", "a/.env"], {".env": "env", "a/.env": "a__.env"}),
    ],
)
def test_each_path_has_a_key_of_its_own(paths: list[str], expected: dict[str, str], monkeypatch: Any) -> None:
    monkeypatch.setattr(canonical, "digest", lambda _: "2" * 64)
    assert source_folder.keys(paths) == expected


@pytest.mark.attack
@pytest.mark.parametrize(
    "index",
    [
        '{"../etl.py": "a"}',
        '{"/etc/passwd": "a"}',
        '{"a/../../b": "a"}',
        '{"a": "../b"}',
        '{"a": 1}',
        "[]",
        "{",
        "[" * 9_999,
    ],
)
def test_an_index_names_no_file_outside_its_folder(index: str) -> None:
    with pytest.raises(SourceFolderError):
        source_folder.parse(index)


@pytest.mark.parametrize(
    ("module", "path", "folder"),
    [
        ("etl", "dags/etl.py", "dags"),
        ("team.dags.etl", "src/team/dags/etl.py", "src"),
        ("team.dags", "src/team/dags/__init__.py", "src"),
    ],
)
def test_the_folder_of_a_module_is_that_from_which_it_is_imported(
    tmp_path: Path, module: str, path: str, folder: str
) -> None:
    assert dag_sources.root(tmp_path / path, module) == (tmp_path / folder).resolve()


def test_files_without_folders_need_no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert source_folder.data({"etl.py": "x = 1"}) == {"etl.py": "x = 1"}
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = [*sys.path]
    source_folder.prepare({"TORPOR_SOURCE": str(tmp_path)})
    assert sys.path == before
