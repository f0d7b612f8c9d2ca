"""Real controllers, triggerer and workers with a real API server: a run succeeds, and nothing in it runs twice."""

import json

from tests.integration.conftest import collection
from tests.integration.controller.stage import ControllerFixture, Object, python, shell

ALL_KINDS = (
    python("items", "listed", args={"count": 4}),
    python("load", "loaded", expand=[{"name": "item", "over": "${tasks.items.result}"}]),
    python("pause", "waited", args={"length": "2s"}),
    {"name": "alarm", "trigger": {"class": "duration", "kwargs": {"duration": "1s"}}},
    shell("count", "printf '{\"rows\": 3}' > /dev/termination-log"),
    python(
        "report",
        "echo",
        after=["alarm"],
        args={"loads": "${tasks.load.results}", "rows": "${tasks.count.result.rows}", "kept": "${tasks.pause.result}"},
    ),
)


def test_python_tasks_a_fan_out_a_wait_and_a_container_run_to_success(stage: ControllerFixture) -> None:
    name = stage.submit(ALL_KINDS)
    assert stage.ends(name)["state"] == "Succeeded"
    result = stage.taskrun(name, "report")["status"]["result"]
    assert json.loads(result) == {"loads": [0, 10, 20, 30], "rows": 3, "kept": "2s"}
    stage.assert_none_twice(name)
    assert len(stage.notes(name)) == 9
    (pod,) = stage.pods_of(stage.taskrun(name, "count"))
    assert "managedFields" not in _as_sent(stage, pod["metadata"]["name"])["metadata"]


def _as_sent(stage: ControllerFixture, pod: str) -> Object:
    """The pod with the members that clients of Torpor leave out."""
    url = f"{stage.server.url}{collection('pods', stage.namespace)}/{pod}"
    return dict(stage.server.administrator.request("GET", url).json())
