"""A file that holds a secret gets into no ConfigMap, whose readers are more than those of Secrets."""

import json
from pathlib import Path

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from converted import convert_text

READING = """
from pathlib import Path
from airflow.sdk import DAG, BaseOperator

HERE = Path(__file__).parent
for path in HERE.iterdir():
    if path.is_file():  # Python may have stored bytecode beside it
        path.read_bytes()

class QueryOperator(BaseOperator):
    template_fields = ("sql",)
    template_ext = (".sql", ".json")

    def __init__(self, *, sql, **kwargs):
        super().__init__(**kwargs)
        self.sql = sql

with DAG("{name}", schedule=None, template_searchpath=str(HERE)):
    QueryOperator(task_id="load", sql="{template}")
"""
ACCOUNT = json.dumps({"type": "service_account", "private_key": "hunter22"}, indent=2)
BLOCK = "-----BEGIN RSA PRIVATE KEY-----\nhunter22\n-----END RSA PRIVATE KEY-----\n"


@pytest.mark.attack
@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".env", "TOKEN=hunter22"),
        (".env.local", "TOKEN=hunter22"),
        ("prod.env", "TOKEN=hunter22"),
        ("server.pem", "hunter22"),
        ("Server.KEY", "hunter22"),
        ("store.p12", "hunter22"),
        ("account.json", ACCOUNT),
        ("note.txt", BLOCK),
    ],
)
def test_no_config_map_gets_a_file_with_a_secret(tmp_path: Path, path: str, content: str) -> None:
    name = f"dag_secret_{path.lower().replace('.', '_')}"
    (tmp_path / path).write_text(content)
    (tmp_path / "tables.json").write_text("[1, 2]")
    converted = convert_text(tmp_path, name, READING.format(name=name, template="SELECT 1"), options=())
    data = converted.documents["airflow-dags", "ConfigMap"]["data"]
    assert data.keys() == {f"{name}.py", "tables.json"}
    assert "hunter22" not in json.dumps(data)
    assert converted.code == 1
    assert f": not converted: {name}: {tmp_path / path}: it may hold a secret" in converted.report


@pytest.mark.attack
def test_a_template_with_a_secret_is_a_loss_of_its_task(tmp_path: Path) -> None:
    (tmp_path / "account.json").write_text(ACCOUNT)
    text = READING.format(name="dag_secret_template", template="account.json").replace("path.read_bytes()", "pass")
    converted = convert_text(tmp_path, "dag_secret_template", text, options=())
    assert "hunter22" not in json.dumps(converted.documents["airflow-dags", "ConfigMap"]["data"])
    assert f"not converted: load: template {tmp_path}/account.json: it may hold a secret" in converted.report


@pytest.mark.attack
def test_a_file_with_a_secret_cannot_be_added(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TOKEN=hunter22")
    text = READING.format(name="dag_adds_secret", template="SELECT 1").replace("path.read_bytes()", "pass")
    converted = convert_text(tmp_path, "dag_adds_secret", text, ("--add-file", str(tmp_path / ".env")))
    assert converted.code == 2
    assert ".env: it may hold a secret, so no ConfigMap gets it: mount a Secret" in converted.report
    assert converted.documents == {}
