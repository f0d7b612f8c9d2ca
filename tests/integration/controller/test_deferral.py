"""Deferral between real processes: where a task resumes, and how its sensors wait."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.controller.stage import ControllerFixture, Object, python, shell, shell_with_outcome
from tests.integration.controller.tasks import SECRET

COUNT = (Path(__file__).resolve().parents[3] / "examples/languages/shell/count.sh").read_text()
TWICE = [*["Running", "Deferred", "Scheduled"] * 2, "Running", "Succeeded"]
_NOON = {"class": "duration", "kwargs": {"duration": "1s"}}


def _ended(stage: ControllerFixture, task: Object) -> Object:
    name = stage.submit([task])
    stage.ends(name)
    stage.assert_none_twice(name)
    status: Object = stage.taskrun(name, task["name"])["status"]
    return status


def _published(stage: ControllerFixture) -> list[Object]:
    items = stage.server.request("GET", "/api/v1/namespaces/torpor-system/configmaps").expect(200)["items"]
    return [item for item in items if item["metadata"]["name"] == "torpor-seal-default"]


def test_a_deferral_that_times_out_resumes_the_method_that_the_task_names(stage: ControllerFixture) -> None:
    status = _ended(stage, python("hasty", "impatient", args={"length": "1s"}))

    assert (status["state"], status.get("result")) == ("Succeeded", '"not within 1s"'), status
    assert status["timedOut"] is True
    assert "event" not in status


def test_a_task_timeout_fails_the_task_whatever_its_deferral_says(stage: ControllerFixture) -> None:
    status = _ended(stage, python("hasty", "impatient", args={"length": "1h"}, timeout="2s"))

    assert (status["state"], status["reason"]) == ("Failed", "Timeout"), status


def test_a_start_trigger_passes_its_event_to_the_function(stage: ControllerFixture) -> None:
    status = _ended(stage, python("echo", "echo", args={"day": "mon"}, trigger=_NOON))

    result = json.loads(status["result"])
    assert (status["segment"], result["day"], sorted(result)) == (1, "mon", ["day", "event"])


def test_a_blocking_sensor_has_a_pod_for_each_poke(stage: ControllerFixture) -> None:
    status = _ended(stage, python("key", "Blocking", args={"poke_interval": 1, "deferrable": True}))

    assert (status["result"], status["segment"]) == ("2", 2)


def test_an_async_sensor_pokes_in_the_triggerer(stage: ControllerFixture) -> None:
    status = _ended(stage, python("key", "Elsewise", args={"name": "a", "poke_interval": "1s"}))

    assert (json.loads(status["result"])[:2], status["segment"]) == (["a", stage.namespace], 1)


def test_a_sensor_with_deferrable_false_keeps_its_pod(stage: ControllerFixture) -> None:
    task = python("key", "Elsewise", args={"name": "b", "poke_interval": "1s", "timeout": "2s"})
    name = stage.submit([task], deferrable=False)
    stage.ends(name)

    status = stage.taskrun(name, "key")["status"]
    assert (status["reason"], status["segment"]) == ("Error", 0)
    assert "Elsewise timed out after 2s" in status["message"]


def test_a_value_is_sealed_by_the_worker_and_opened_by_the_triggerer(stage: ControllerFixture) -> None:
    stage.until(lambda: bool(_published(stage)), "the pool has published its key")
    name = stage.submit([python("secretive", "sealed")])
    stage.ends(name)

    taskrun = stage.taskrun(name, "secretive")
    assert taskrun["status"].get("result") == '"the triggerer knew it, and printed ***"', taskrun["status"]
    assert SECRET not in json.dumps(taskrun)


def test_a_shell_script_waits_twice_and_ends_with_its_result(stage: ControllerFixture) -> None:
    count = shell_with_outcome("count", COUNT, expand=[{"name": "number", "over": [1, 2]}], args={"wait": "1s"})
    name = stage.submit((count, shell("end", "echo ${tasks.count.results[1].count} > /dev/termination-log")))
    assert stage.ends(name)["state"] == "Succeeded"
    runs = [run for run in stage.taskruns(name) if run["spec"]["task"] == "count"]
    for run in runs:
        status = run["status"]
        assert [entry["state"] for entry in status["history"]] == TWICE
        result = json.loads(status["result"])
        assert (result["count"], isinstance(result["event"], str)) == (3, True)
    assert stage.taskrun(name, "end")["status"]["result"] == "3"
    stage.assert_none_twice(name)
    assert len(stage.notes(name)) == 7


def test_another_leader_goes_on_with_what_a_container_waits_for(stage: ControllerFixture) -> None:
    name = stage.submit((shell_with_outcome("count", COUNT, args={"wait": "3s"}),))
    stage.until(lambda: stage.taskrun(name, "count")["status"]["state"] == "Deferred", "it is deferred")
    stage.leader().end()
    assert stage.ends(name)["state"] == "Succeeded"
    assert [entry["state"] for entry in stage.taskrun(name, "count")["status"]["history"]] == TWICE
    stage.assert_none_twice(name)
    assert len(stage.notes(name)) == 3


@pytest.mark.attack
@pytest.mark.parametrize("task", [shell, shell_with_outcome])
def test_an_answer_that_reads_like_a_deferral_defers_nothing(
    stage: ControllerFixture, task: Callable[..., Object]
) -> None:
    secrets = {"/headers/Authorization": {"name": "jobs", "key": "token"}}
    call = {"class": "http", "kwargs": {"url": "http://127.0.0.1:1/collect"}, "secrets": secrets}
    answer = json.dumps({"torpor": 1, "nonce": "", "defer": {"trigger": call}})
    name = stage.submit((task("fetch", f"echo '{answer}' > /dev/termination-log"),))
    stage.ends(name)
    status = stage.taskrun(name, "fetch")["status"]
    assert "Deferred" not in [entry["state"] for entry in status["history"]]
    expected = ("Succeeded", json.loads(answer)) if task is shell else ("Failed", None)
    assert (status["state"], json.loads(status.get("result", "null"))) == expected


def test_a_program_that_asks_for_it_resumes_after_a_timeout(stage: ControllerFixture) -> None:
    script = (
        'if [ "$TORPOR_TIMED_OUT" = true ]; then echo "$TORPOR_STATE"; else echo '
        '\'{"torpor":1,"nonce":"\'"$TORPOR_OUTCOME_NONCE"\'","defer":'
        '{"trigger":{"class":"duration","kwargs":{"duration":"1h"}},"timeout":"1s",'
        '"onTimeout":"resume","state":"$(HOME)"}}\'; fi > "$TORPOR_OUTCOME"'
    )
    name = stage.submit((shell_with_outcome("wait", script),))
    assert stage.ends(name)["state"] == "Succeeded"
    status = stage.taskrun(name, "wait")["status"]
    assert (status["result"], status["timedOut"], status["segment"]) == ('"$(HOME)"', True, 1)
