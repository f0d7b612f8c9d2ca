"""DAG files become WorkflowTemplates and Schedules, and what is lost has file and line."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
import yaml
from torpor import Results
from torpor.context import Context
from torpor_airflow import __main__ as command
from torpor_airflow.operators import AirflowOperator

TESTS = Path(__file__).parent


@pytest.fixture
def shapes(capsys: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, Any]], str]:
    """The exit code, the documents, and the report of the DAG with all shapes."""
    code = command.main(["convert", str(TESTS / "dag_shapes.py")])
    printed = capsys.readouterr()
    return code, list(yaml.safe_load_all(printed.out)), printed.err


def tasks_of(documents: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {task["name"]: task for task in documents[1]["spec"]["workflow"]["tasks"]}


def test_a_dag_becomes_a_template_and_a_schedule(shapes: tuple[int, list[dict[str, Any]], str]) -> None:
    code, (config_map, template, schedule), report = shapes
    assert (code, report) == (0, "")
    assert [*config_map["data"]] == ["dag_shapes.py"]
    assert template["metadata"]["name"] == schedule["spec"]["templateRef"]["name"] == "shapes-of-graphs"
    assert schedule["spec"]["sources"] == [{"name": "cron", "cron": "0 6 * * *", "timezone": "UTC"}]
    assert schedule["spec"]["maxActive"] == 3


def test_params_keep_their_types_and_choices(shapes: tuple[int, list[dict[str, Any]], str]) -> None:
    params = {each.pop("name"): each for each in shapes[1][1]["spec"]["params"]}
    assert params["factor"] == {"type": "integer", "default": 2}
    assert params["mode"] == {"type": "string", "default": "a", "enum": ["a", "b"]}
    assert params["conf"]["default"] == {}


def test_each_shape_of_a_graph_has_its_form(shapes: tuple[int, list[dict[str, Any]], str]) -> None:
    tasks = tasks_of(shapes[1])
    assert tasks["choose"]["branch"]
    assert tasks["double"]["expand"] == [{"name": "mapped_row", "over": "${tasks.extract.result}"}]
    assert tasks["each_negate"]["group"] == shapes[1][1]["spec"]["workflow"]["groups"][0]["name"]
    assert tasks["always"]["after"] == ["is_sunday", "never"]
    assert tasks["broken"]["mayFail"]
    assert "mayFail" not in tasks["total"]
    assert tasks["end"]["when"] == "tasks.begin.state == 'Succeeded'"
    assert tasks["total"]["retries"] == {"limit": 2, "delay": "300s", "backoff": 1}
    assert tasks["never"]["trigger"]["class"] == "duration"


SHAPES = "dag_shapes:Shapes-of.graphs"
PARAMS = {"table": "trips", "factor": 2, "mode": "a"}


def instance(index: int = -1, groups: tuple[int, ...] = ()) -> Context:
    return Context(
        namespace="default",
        workflow="run",
        task="any",
        map_index=index,
        attempt=1,
        segment=0,
        taskrun="run-any",
        uid="one",
        group_indexes=groups,
    )


def results(values: list[Any]) -> Results:
    return Results(lambda place: lambda: values[place], [*range(len(values))], [])  # type: ignore[index]


@pytest.mark.parametrize(
    ("task", "given", "context", "expected"),
    [
        ("extract", {}, instance(), [1, 2, 3]),
        ("double", {"xcom_extract": [1, 2, 3], "mapped_row": 3}, instance(2), 6),
        ("total", {"xcom_double": results([2, 4, 6])}, instance(), 24),
        ("span", {"xcom_limits": {"__xcoms__": {"least": 1, "most": 3}}}, instance(), 2),
        ("each.half", {"xcom_extract": [1, 2, 3]}, instance(groups=(1,)), 1.5),
        ("each.negate", {"xcom_each_half": 1.5}, instance(groups=(1,)), -1.5),
        ("show_many", {"xcom_extract": [1, 2, 3]}, instance(), "trips [1, 2, 3]"),
        ("choose", {"xcom_extract": [1, 2, 3], "downstream": ["show_few", "show_many"]}, instance(), ["show_many"]),
        ("is_sunday", {"downstream": ["always", "never"]}, instance(), []),
        ("tolerant", {}, instance(), "ran"),
    ],
)
def test_a_task_runs_its_operator_of_the_dag(task: str, given: dict[str, Any], context: Context, expected: Any) -> None:
    operator = AirflowOperator(dag=SHAPES, task=task, params=PARAMS, logical_date="2026-11-26T06:00:00Z", **given)
    assert operator.execute(context) == expected


@pytest.fixture(scope="module")
def partial() -> tuple[int, dict[str, dict[str, Any]], str]:
    """The exit code, the tasks and the report of the partial DAG."""
    with pytest.MonkeyPatch.context() as patch:
        import io  # noqa: PLC0415

        out, err = io.StringIO(), io.StringIO()
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = command.main(["convert", str(TESTS / "dag_partial.py")])
    return code, tasks_of(list(yaml.safe_load_all(out.getvalue()))), err.getvalue()


@pytest.mark.parametrize(
    "expected",
    [
        "not converted: late: argument depends_on_past",
        "not converted: late: pool_slots",
        "note: late: pool small: add it to the ConfigMap torpor-pools",
        "not converted: fetch: queue gpu",
        "note: fetch: priority_weight",
        "note: fetch: connection reports: add AIRFLOW_CONN_REPORTS",
        "note: other: it waits for the run of the Schedule orders at its time",
        "not converted: next: a template in conf",
        "not converted: partial_etl: argument on_failure_callback of the DAG",
        "not converted: partial_etl: an interval of 5:00:00",
    ],
)
def test_what_has_no_counterpart_is_reported(
    expected: str, partial: tuple[int, dict[str, dict[str, Any]], str]
) -> None:
    assert partial[0] == 1
    assert expected in partial[2]


def test_a_report_names_the_line_of_the_task(partial: tuple[int, dict[str, dict[str, Any]], str]) -> None:
    lines = (TESTS / "dag_partial.py").read_text().splitlines()
    number = next(number for number, line in enumerate(lines, start=1) if '"late"' in line)
    assert f"dag_partial.py:{number}: not converted: late" in partial[2]


def test_a_dag_that_starts_another_one_has_a_task_with_run(
    partial: tuple[int, dict[str, dict[str, Any]], str],
) -> None:
    assert partial[1]["then"]["run"] == {"templateRef": {"name": "load-all"}, "params": {"conf": {"day": 1}}}
    assert partial[1]["next"]["run"]["wait"] is False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise ValueError('no')", "fails: ValueError: no"),
        ("raise SystemExit(3)", "fails: SystemExit: 3"),
        ("from airflow.sdk import NoSuchName", "fails: ImportError"),
        ("x = 1", "there is no DAG in"),
        ("def broken(:", "fails: SyntaxError"),
    ],
)
def test_a_file_without_a_dag_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    file = tmp_path / f"bad_dag_{len(text)}_{len(message)}.py"
    file.write_text(text)
    assert command.main(["convert", str(file)]) == 2
    assert message in capsys.readouterr().err


def test_a_missing_file_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["convert", "none/etl.py"]) == 2
    assert "there is no file none/etl.py" in capsys.readouterr().err


def test_a_file_whose_name_another_module_has_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "json.py"
    file.write_text("x = 1")
    assert command.main(["convert", str(file)]) == 2
    assert "rename the file" in capsys.readouterr().err


def test_a_factory_of_dags_becomes_a_template_for_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dag_factory_of_three.py").write_text(
        "from airflow.sdk import DAG\n"
        "from airflow.providers.standard.operators.empty import EmptyOperator\n"
        "for city in ('ulm', 'bonn', 'kiel'):\n"
        "    with DAG(f'load_{city}', schedule=None):\n"
        "        EmptyOperator(task_id='load')\n"
    )
    assert command.main(["convert", str(tmp_path / "dag_factory_of_three.py")]) == 0
    written = [each for each in yaml.safe_load_all(capsys.readouterr().out) if each["kind"] != "ConfigMap"]
    assert [each["metadata"]["name"] for each in written] == ["load-bonn", "load-kiel", "load-ulm"]


@pytest.mark.attack
def test_a_text_of_a_file_becomes_no_expression(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dag_with_expressions.py").write_text(
        "from airflow.sdk import DAG\n"
        "from airflow.providers.standard.operators.bash import BashOperator\n"
        "with DAG('texts', schedule=None, params={'given': '${run.name}'}, description='${x}'):\n"
        "    BashOperator(task_id='a', bash_command='${run.name}', task_display_name='${run.name}')\n"
        "    BashOperator.partial(task_id='b').expand(bash_command=['echo ${run.name}', 'x'])\n"
    )
    assert command.main(["convert", "--in-image", str(tmp_path / "dag_with_expressions.py")]) == 0
    printed = capsys.readouterr()
    (template,) = yaml.safe_load_all(printed.out)
    assert "run.name" not in yaml.safe_dump(template)
    assert "param given: set it in the param conf" in printed.err


def test_a_connection_is_given_to_pods_and_to_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dag_with_connection.py").write_text(
        "from airflow.sdk import DAG\n"
        "from airflow.providers.http.sensors.http import HttpSensor\n"
        "with DAG('connected', schedule=None):\n"
        "    HttpSensor(task_id='a', endpoint='x', http_conn_id='web')\n"
    )
    given = ["--connection", "web=server/uri", str(tmp_path / "dag_with_connection.py")]
    assert command.main(["convert", "--in-image", *given]) == 0
    printed = capsys.readouterr()
    workflow = next(yaml.safe_load_all(printed.out))["spec"]["workflow"]
    reference = {"secretKeyRef": {"name": "server", "key": "uri"}}
    assert workflow["defaults"]["pod"]["env"] == [{"name": "AIRFLOW_CONN_WEB", "valueFrom": reference}]
    assert workflow["bodies"]["airflow"]["args"]["connections"] == {"web": "server/uri"}
    assert "connection web" not in printed.err


@pytest.mark.parametrize("text", ["web", "web=server", "web=/uri", "=server/uri", "web=Server/uri", "web=a/b/c"])
def test_a_connection_of_another_form_is_rejected(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["convert", "--connection", text, "none.py"]) == 2
    assert "write ID=SECRET/KEY" in capsys.readouterr().err
