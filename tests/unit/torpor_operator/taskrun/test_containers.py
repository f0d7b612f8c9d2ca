import pytest
from torpor_operator.model.actions import CreatePod, RemovePodFinalizer, RemoveSchedulingGate
from torpor_operator.model.pod import parse_pod, pod_name
from torpor_wire import constants, names
from torpor_wire.state import State

from tests.support.builders import NAME, UID, Body, container
from tests.support.plan_fixture import PlanFixture


def pod_of(world: PlanFixture, task: str) -> Body:
    return world.pods[pod_name(world.run(task))]


def ended(world: PlanFixture, task: str, code: int, message: str = "") -> PlanFixture:
    state = {"terminated": {"exitCode": code, "reason": "Completed" if code == 0 else "Error", "message": message}}
    phase = "Succeeded" if code == 0 else "Failed"
    pod_of(world, task)["status"] = {"phase": phase, "containerStatuses": [{"state": state}]}
    return world.settle()


def test_a_container_is_claimed_before_its_gate_is_removed() -> None:
    world = PlanFixture(container("load"))
    plan = world.plan()
    world.apply(plan)
    plan = world.plan()
    assert [type(action) for action in plan.actions] == [CreatePod]
    world.apply(plan)
    assert parse_pod(pod_of(world, "load")).gated
    world.apply(world.plan())
    assert world.state("load") is State.RUNNING
    claimed = world.run("load").status.pod
    assert claimed is not None
    assert claimed.uid == pod_of(world, "load")["metadata"]["uid"]
    assert [type(action) for action in world.plan().actions] == [RemoveSchedulingGate]


def test_the_arguments_of_a_container_are_environment_variables() -> None:
    world = PlanFixture(container("load", args={"path": "/data", "sizes": [1, 2]})).settle()
    env = pod_of(world, "load")["spec"]["containers"][0]["env"]
    assert env[-2:] == [{"name": "path", "value": "/data"}, {"name": "sizes", "value": "[1,2]"}]


def test_a_container_has_no_credentials() -> None:
    spec = pod_of(PlanFixture(container("load")).settle(), "load")["spec"]
    assert [sorted(volume) for volume in spec["volumes"]] == [["emptyDir", "name"]]
    assert spec["automountServiceAccountToken"] is False


@pytest.mark.parametrize(
    ("message", "result"), [("", None), ("done", '"done"'), ("[1, 2.0]", "[1,2.0]"), ('"text"', '"text"')]
)
def test_the_result_is_the_termination_message(message: str, result: str | None) -> None:
    world = ended(PlanFixture(container("load")).settle(), "load", 0, message)
    assert world.state("load") is State.SUCCEEDED
    assert world.run("load").status.result == result
    assert world.condition()[0] == "True"


@pytest.mark.parametrize("message", ["x" * 4096, "[" + "1," * 2048 + "1]"])
def test_a_message_the_kubelet_may_have_cut_fails_the_task_with_its_size(message: str) -> None:
    world = ended(PlanFixture(container("load", retries={"limit": 2})).settle(), "load", 0, message)
    status = world.run("load").status
    assert (status.state, status.reason) == (State.FAILED, "ResultInvalid")
    assert f"{len(message)} bytes" in (status.message or "")
    assert "4096" in (status.message or "")


def test_a_message_just_below_the_limit_is_the_result() -> None:
    world = ended(PlanFixture(container("load")).settle(), "load", 0, "x" * 4095)
    assert world.run("load").status.result == '"' + "x" * 4095 + '"'


@pytest.mark.parametrize("message", ['{"rows": 3', "[1, 2", '"text', "[NaN]", "[INFO] done", "[" * 3000])
def test_a_message_that_begins_like_json_must_be_json(message: str) -> None:
    world = ended(PlanFixture(container("load")).settle(), "load", 0, message)
    status = world.run("load").status
    assert (status.state, status.reason) == (State.FAILED, "ResultInvalid")
    assert "is not valid JSON" in (status.message or "")


@pytest.mark.parametrize(
    ("message", "result"),
    [
        ("7", "7"),
        (" true\n", "true"),
        ("null", "null"),
        ("NaN", '"NaN"'),
        ("1.2.3", '"1.2.3"'),
        ("12 rows", '"12 rows"'),
    ],
)
def test_any_other_message_is_json_or_text(message: str, result: str) -> None:
    world = ended(PlanFixture(container("load")).settle(), "load", 0, message)
    assert world.run("load").status.result == result


def test_text_that_exceeds_the_limit_as_json_fails_the_task() -> None:
    world = ended(PlanFixture(container("load")).settle(), "load", 0, "a" + "\x01" * 2000)
    assert world.run("load").status.reason == "ResultInvalid"
    assert "the limit is 8192" in (world.run("load").status.message or "")


def test_a_failed_container_reports_its_exit_code_and_message() -> None:
    world = ended(PlanFixture(container("load")).settle(), "load", 3, "no such file")
    assert world.state("load") is State.FAILED
    assert world.run("load").status.reason == "Error"
    assert world.run("load").status.message == "Error, exit code 3: no such file"


def test_a_missing_program_is_a_launch_failure() -> None:
    world = PlanFixture(container("load")).settle()
    state = {"terminated": {"exitCode": 128, "reason": "StartError", "message": "exec: no such file"}}
    pod_of(world, "load")["status"] = {"phase": "Failed", "containerStatuses": [{"state": state}]}
    world.settle()
    assert world.run("load").status.reason == "LaunchFailed"
    assert "exec: no such file" in (world.run("load").status.message or "")


def test_the_pod_is_kept_until_its_outcome_is_stored() -> None:
    world = PlanFixture(container("load")).settle()
    assert parse_pod(pod_of(world, "load")).has_finalizer
    name = pod_name(world.run("load"))
    state = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    world.pods[name]["status"] = {"phase": "Succeeded", "containerStatuses": [{"state": state}]}
    plan = world.plan()
    assert not any(isinstance(action, RemovePodFinalizer) for action in plan.actions)
    world.apply(plan)
    assert world.state("load") is State.SUCCEEDED
    world.settle()
    assert not parse_pod(world.pods[name]).has_finalizer


def test_a_pod_deleted_before_it_could_start_is_launched_again() -> None:
    world = PlanFixture(container("load"))
    for _ in range(3):
        world.apply(world.plan())
    assert world.state("load") is State.RUNNING
    pod_of(world, "load")["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    world.settle()
    assert world.state("load") is State.RUNNING
    assert world.run("load").status.launch == 1
    assert list(world.pods) == [names.pod(names.taskrun(NAME, UID, "load"), 1, 0, 1)]


def test_a_cancelled_container_leaves_no_pod() -> None:
    world = PlanFixture(container("load")).settle()
    world.change(cancel=True)
    assert world.state("load") is State.CANCELLED
    assert world.pods == {}


def test_a_retried_container_gets_a_new_pod() -> None:
    world = ended(PlanFixture(container("load", retries={"limit": 1, "delay": "1s", "backoff": 1})).settle(), "load", 1)
    assert world.state("load") is State.UP_FOR_RETRY
    world.advance(1)
    assert world.state("load") is State.RUNNING
    assert world.run("load").status.attempt == 2


def test_pod_fields_of_the_task_are_on_the_pod() -> None:
    chosen = {
        "resources": {"requests": {"memory": "1Gi"}},
        "env": [{"name": "A", "value": "1"}],
        "volumes": [{"name": "v", "emptyDir": {}}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "nodeSelector": {"disk": "fast"},
        "labels": {"team": "data", constants.LABEL_TASK: "forged"},
        "serviceAccountName": "mine",
    }
    body = pod_of(PlanFixture(container("load", pod=chosen)).settle(), "load")
    spec, main = body["spec"], body["spec"]["containers"][0]
    assert main["resources"] == {"requests": {"memory": "1Gi"}}
    assert main["env"][0] == {"name": "A", "value": "1"}
    assert main["volumeMounts"] == [{"name": "v", "mountPath": "/v"}, {"name": "torpor-tmp", "mountPath": "/tmp"}]
    assert [volume["name"] for volume in spec["volumes"]] == ["v", "torpor-tmp"]
    assert spec["nodeSelector"] == {"disk": "fast"}
    assert spec["serviceAccountName"] == "mine"
    assert body["metadata"]["labels"]["team"] == "data"
    assert body["metadata"]["labels"][constants.LABEL_TASK] == "load"


def test_a_pod_on_a_lost_node_is_reported_and_not_replaced() -> None:
    world = PlanFixture({"name": "load", "python": "m:f"}).settle()
    world.claim("load")
    ends = "2023-11-14T22:13:20Z"  # the world's now
    pod_of(world, "load")["metadata"]["deletionTimestamp"] = ends
    world.settle()
    assert world.run("load").status.reason is None
    world.advance(31)
    assert world.state("load") is State.RUNNING
    assert world.run("load").status.reason == "NodeLost"
    assert pod_name(world.run("load")) in (world.run("load").status.message or "")
    assert world.condition("Stalled")[:2] == ("True", "NodeLost")
    assert len(world.pods) == 1
