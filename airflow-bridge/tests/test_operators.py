"""Operators of Airflow run as python tasks, by Airflow's own task runner in the process of the task."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSensorTimeout, AirflowTaskTimeout
from conftest import LoopbackServer
from local_play import play, statuses
from torpor import ConfigMapRef, Context, SecretRef, TaskSkipped
from torpor.deferral import TaskDeferred
from torpor_airflow import environment
from torpor_airflow.operators import AirflowOperator
from torpor_airflow.operators.supervisor import UnsupportedRequestError
from torpor_airflow.operators.task_instance import InvalidOperatorError

HTTP = "airflow.providers.http.operators.http.HttpOperator"
STANDARD = "airflow.providers.standard"


def context(task: str = "load", map_index: int = -1) -> Context:
    return Context(
        namespace="team",
        workflow="report",
        task=task,
        map_index=map_index,
        attempt=1,
        segment=0,
        taskrun="report-load-abcde",
        uid="11111111-2222-3333-4444-555555555555",
    )


def sample(name: str, arguments: Mapping[str, Any] | None = None, **given: Any) -> AirflowOperator:
    return AirflowOperator(operator=f"sample_operators.{name}", arguments=arguments or {}, **given)


def run(operator: AirflowOperator) -> Any:
    return operator.execute(context())


def deferral_of(operator: AirflowOperator) -> TaskDeferred:
    with pytest.raises(TaskDeferred) as caught:
        run(operator)
    return caught.value


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ ds }} {{ ts_nodash }}", "2026-11-26 20261126T060000"),
        ("{{ data_interval_start.isoformat() }}", "2026-11-25T06:00:00+00:00"),
        ("{{ params.table }} {{ run_id }} {{ task.task_id }}", "trips report load"),
        ("{{ macros.ds_add(ds, 1) }}", "2026-11-27"),
        ("{{ ti.xcom_pull(task_ids='extract_rows') }}", "17"),
        ("{{ ti.xcom_pull(task_ids='split', key='parts') }}", "4"),
        (["{{ ds }}", {"x": "{{ params.table }}"}], ["2026-11-26", {"x": "trips"}]),
    ],
)
def test_templates_see_dates_params_and_results(template: Any, expected: Any) -> None:
    operator = sample(
        "TemplatedOperator",
        {"text": template},
        params={"table": "trips"},
        logical_date="2026-11-26T06:00:00Z",
        data_interval=["2026-11-25T06:00:00Z", "2026-11-26T06:00:00Z"],
        **{"xcom_extract-rows": 17, "xcom_split": {"__xcoms__": {"return_value": "x", "parts": 4}}},
    )
    assert run(operator) == expected


def test_the_limit_of_an_operator_is_that_of_a_segment() -> None:
    with pytest.raises(AirflowTaskTimeout):
        run(sample("SleepingOperator", {"execution_timeout": {"__type": "timedelta", "__var": 0.05}}))


def test_further_xcoms_are_in_the_result() -> None:
    assert run(sample("PushingOperator")) == {"__xcoms__": {"return_value": "done", "rows": 3}}


@pytest.mark.parametrize(
    ("error", "raised", "text"),
    [
        ("skip", TaskSkipped, "because of skip"),
        ("fail", AirflowFailException, "because of fail"),
        ("retry", AirflowException, "because of retry"),
        ("other", ValueError, "because of other"),
    ],
)
def test_an_exception_has_the_meaning_that_it_has_in_airflow(error: str, raised: type[Exception], text: str) -> None:
    with pytest.raises(raised, match=text):
        run(sample("RaisingOperator", {"error": error}))


def test_a_deferral_resumes_in_the_method_of_the_operator() -> None:
    given = {"connections": {"web": "server/uri"}, "variables": {"region": "configmap/settings/region"}}
    deferred = deferral_of(sample("DeferringOperator", **given))
    path, kwargs = deferred.trigger.serialize()
    assert path == f"{STANDARD}.triggers.temporal.DateTimeTrigger"
    expected = {"connections": {"web": SecretRef("server", "uri")}}
    assert kwargs["airflow"] == {**expected, "variables": {"region": ConfigMapRef("settings", "region")}}
    assert (deferred.method_name, deferred.on_timeout) == ("resume", "resume_late")
    result = sample("DeferringOperator").resume(context(), event={"at": 1}, **(deferred.kwargs or {}))
    assert result == {"__xcoms__": {"before": "the wait", "return_value": {"event": "dict", "rows": 3}}}


def test_the_state_store_of_a_task_survives_its_deferral() -> None:
    deferred = deferral_of(sample("StoringOperator"))
    assert (deferred.kwargs or {})["state"] == {"stored": {"job": "j-1"}}
    assert sample("StoringOperator").resume(context(), event=None, **(deferred.kwargs or {})) == ["j-1", None, None]


@pytest.mark.parametrize(("soft_fail", "raised"), [(False, AirflowSensorTimeout), (True, TaskSkipped)])
def test_a_late_trigger_fails_a_sensor_or_skips_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, soft_fail: bool, raised: type[Exception]
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_FS_DEFAULT", "fs:///")
    arguments = {"filepath": str(tmp_path / "none"), "deferrable": True, "soft_fail": soft_fail}
    operator = f"{STANDARD}.sensors.filesystem.FileSensor"
    deferred = deferral_of(AirflowOperator(operator=operator, arguments=arguments))
    with pytest.raises(raised):
        AirflowOperator(operator=operator, arguments=arguments).resume_late(context(), **(deferred.kwargs or {}))


def test_a_sensor_in_mode_reschedule_waits_without_a_pod() -> None:
    arguments = {"mode": "reschedule", "poke_interval": 60, "timeout": 3600}
    deferred, pokes = deferral_of(sample("PokingSensor", arguments)), 1
    first = (deferred.kwargs or {})["state"]["first_poke"]
    while True:
        assert deferred.trigger.serialize()[0] == "time"
        try:
            sample("PokingSensor", arguments).poke_again(context(), None, **(deferred.kwargs or {}))
        except TaskDeferred as again:
            deferred, pokes = again, pokes + 1
            assert (deferred.kwargs or {})["state"]["first_poke"] == first
        else:
            break
    assert pokes == 2


def test_an_operator_that_starts_from_its_trigger_defers_before_it_executes() -> None:
    arguments = {"target_time": "{{ ds }}T00:00:00+00:00", "start_from_trigger": True, "end_from_trigger": True}
    operator = f"{STANDARD}.sensors.date_time.DateTimeSensorAsync"
    deferred = deferral_of(AirflowOperator(operator=operator, arguments=arguments, logical_date="2026-11-26T06:00:00Z"))
    assert "2026-11-26" in str(deferred.trigger.serialize()[1])


@pytest.mark.parametrize(("choice", "expected"), [("fast", ["fast"]), (["fast", "slow"], ["fast", "slow"]), (None, [])])
def test_a_branch_returns_the_tasks_that_run(choice: Any, expected: list[str]) -> None:
    operator = AirflowOperator(
        operator="sample_branch.ChoosingOperator", arguments={"choice": choice}, downstream=["fast", "slow"]
    )
    assert sorted(run(operator)) == expected


def test_connections_and_variables_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_WEB", "http://server.example.org/")
    monkeypatch.setenv("AIRFLOW_VAR_REGION", "eu-1")
    assert run(sample("SecretsOperator")) == ["server.example.org", "eu-1"]


def test_another_interpreter_loads_airflow_as_an_installation() -> None:
    operator = AirflowOperator(dag="dag_children:children", task="outside")
    assert run(operator) == [7, 0]
    assert environment.AS_LIBRARY in os.environ  # the bridge itself goes on without a database


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"operator": "acme.Missing"}, "there is no class acme.Missing"),
        ({"operator": "sample_operators.Rows"}, "is not an operator of Airflow"),
        ({"operator": HTTP, "arguments": {"task_id": "x"}}, "argument task_id of the operator"),
        ({"operator": HTTP, "arguments": {"no_such": 1}}, "no_such"),
    ],
)
def test_a_wrong_operator_fails_with_what_to_change(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOperatorError, match=message):
        run(AirflowOperator(**given))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"logical_date": "yesterday"}, "logical_date is 'yesterday'"),
        ({"logical_date": "2026-11-26T06:00:00"}, "logical_date has no time zone"),
        ({"connections": {"web": "server"}}, "connections.web must be SECRET/KEY"),
    ],
)
def test_wrong_arguments_of_the_bridge_name_the_argument(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AirflowOperator(operator=HTTP, **given)


def test_there_is_no_last_successful_run() -> None:
    text = {"text": "{{ prev_data_interval_end_success }}"}
    assert run(sample("TemplatedOperator", text, logical_date="2026-11-26T06:00:00Z")) == "None"


def test_an_unpassed_xcom_says_how_to_pass_it() -> None:
    with pytest.raises(UnsupportedRequestError, match="pass its result as the argument xcom_extract"):
        run(sample("TemplatedOperator", {"text": "{{ ti.xcom_pull(task_ids='extract') }}"}))


@pytest.mark.parametrize(("name", "text"), [("DatabaseOperator", "[Ss]ession"), ("ApiOperator", "GetDRCount")])
def test_what_needs_airflow_itself_fails_with_its_name(name: str, text: str) -> None:
    with pytest.raises(Exception, match=text):
        run(sample(name))


@pytest.mark.parametrize(
    ("operator", "text"),
    [
        (sample("TemplatedOperator", {"text": "{{ nothing.here }}"}), "'nothing' is undefined"),
        (sample("TemplatedOperator", {"text": "{{ params.none }}"}), "none"),
        (sample("SecretsOperator"), "web"),
        (AirflowOperator(dag="no_such_module:etl", task="a"), "the import of no_such_module fails"),
        (
            AirflowOperator(dag="dag_shapes:none", task="a"),
            "no DAG none in dag_shapes; it has Shapes-of.graphs",
        ),
        (
            AirflowOperator(dag="dag_shapes:Shapes-of.graphs", task="gone"),
            "has no task gone now; convert",
        ),
    ],
)
def test_what_is_missing_fails_with_its_name(operator: AirflowOperator, text: str) -> None:
    with pytest.raises(Exception, match=text):
        run(operator)


@pytest.mark.parametrize("given", [{}, {"dag": "etl:etl"}, {"dag": "etl:etl", "task": "a", "operator": HTTP}])
def test_a_task_has_an_operator_or_a_dag(given: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="set operator, or dag and task"):
        AirflowOperator(**given)


@pytest.mark.parametrize(("installed", "fits"), [("3.3.2", True), ("3.2.9", False), ("3.30.1", False), ("4.0", False)])
def test_another_minor_version_of_airflow_is_refused(installed: str, fits: bool) -> None:
    assert (environment.version_problem(installed) is None) == fits


class _Stopped(SystemExit):
    """What the runtime of a task pod raises at SIGTERM."""


def _stop(number: int, frame: object) -> None:
    raise _Stopped


def test_a_stopped_pod_ends_the_operator_and_then_kills_its_job(tmp_path: Path) -> None:
    former = signal.signal(signal.SIGTERM, _stop)
    operator = sample("StoppedOperator", {"marker": str(tmp_path / "killed")})
    try:
        with pytest.raises(_Stopped):
            run(operator)
    finally:
        signal.signal(signal.SIGTERM, former)
    assert not (tmp_path / "killed").exists()
    operator.on_kill()  # the runtime calls it, once the code of the operator has ended
    assert (tmp_path / "killed").exists()


@pytest.mark.attack
def test_a_failing_operator_logs_no_value_of_its_variables(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="because of other"):
        run(sample("RaisingOperator", {"error": "other"}, params={"password": "hunter22"}))
    assert "hunter22" not in "".join(capsys.readouterr())


async def test_operators_of_the_http_provider_run_in_a_workflow(
    tmp_path: Path, python: str, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_HTTP_DEFAULT", f"http://127.0.0.1:{server.port}/")

    def task(name: str, operator: str, arguments: dict[str, Any], **fields: Any) -> dict[str, Any]:
        args = {"operator": operator, "arguments": arguments, **fields.pop("args", {})}
        return {"name": name, "python": "torpor_airflow.operators:AirflowOperator", "args": args, **fields}

    outcome = await play(
        tmp_path,
        task("fetch", HTTP, {"endpoint": "rows", "method": "GET", "deferrable": True}),
        task(
            "send",
            HTTP,
            {"endpoint": "{{ ti.xcom_pull(task_ids='fetch') | length }}", "method": "GET"},
            args={"xcom_fetch": "${tasks.fetch.result}"},
        ),
        python=python,
    )
    assert outcome.state == "Succeeded", statuses(outcome)
    assert [path for path, _ in server.requests] == ["/rows", "/17"]
    history = [each["state"] for each in statuses(outcome)["fetch"]["history"]]
    assert history == ["Running", "Deferred", "Scheduled", "Running", "Succeeded"]
