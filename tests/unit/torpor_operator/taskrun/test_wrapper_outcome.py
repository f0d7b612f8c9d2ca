"""Results of a container: its output, a file or its exit code, stored by a wrapper that the program cannot imitate."""

import json

import pytest
from torpor_operator.model.pod import pod_name

from tests.support.builders import Body
from tests.support.plan_fixture import PlanFixture


def program(result: object, **fields: object) -> Body:
    return {"name": "a", "container": {"command": ["p"], "result": result}, **fields}


def started(task: Body) -> PlanFixture:
    return PlanFixture(task).settle()


def nonce(world: PlanFixture) -> str:
    found: str = pod(world)["metadata"]["annotations"]["torpor.dev/outcome-nonce"]
    return found


def pod(world: PlanFixture) -> Body:
    found: Body = world.pods[pod_name(world.run("a"))]
    return found


def end(world: PlanFixture, *, code: int = 0, message: str = "") -> None:
    state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "message": message}}
    world.kubelet("a", {"phase": "Failed" if code else "Succeeded", "containerStatuses": [{"state": state}]})


def document(world: PlanFixture, **outcome: object) -> str:
    return json.dumps({"torpor": 1, "nonce": nonce(world), **outcome})


@pytest.mark.parametrize("result", ["stdout", {"path": "/tmp/out"}])
@pytest.mark.parametrize("value", ["text", 3, None, {"rows": [1, None]}, '{"torpor":1}'])
def test_the_document_of_the_wrapper_is_the_result(result: object, value: object) -> None:
    world = started(program(result))
    end(world, message=document(world, result=value))
    status = world.run("a").status
    assert status.state == "Succeeded"
    assert json.loads(status.result or "") == value


def test_a_pod_with_a_wrapper_has_a_token_for_the_archive_only() -> None:
    world = started(program("stdout"))
    spec = pod(world)["spec"]
    main = spec["containers"][0]
    assert [each["name"] for each in spec["initContainers"]] == ["torpor-runtime"]
    assert main["command"] == ["/torpor/torpor-tool", "run", "--stdout", "--", "p"]
    mounts = {each["mountPath"]: each.get("readOnly") for each in main["volumeMounts"]}
    assert mounts["/torpor"] is True
    tokens = [
        source["serviceAccountToken"].get("audience")
        for volume in spec["volumes"]
        for source in volume.get("projected", {}).get("sources", [])
        if "serviceAccountToken" in source
    ]
    assert tokens in ([], ["torpor-archive"])


@pytest.mark.attack
@pytest.mark.parametrize(
    "message",
    [
        "",
        "plain",
        "3",
        "[1]",
        "{broken",
        '{"rows": 1}',
        '{"torpor": 1, "nonce": "guessed", "result": 1}',
        '{"torpor": 1, "result": 1}',
        "[" * 5000,
    ],
)
def test_what_the_program_writes_itself_is_no_result(message: str) -> None:
    world = started(program("stdout", retries={"limit": 3}))
    end(world, message=message)
    status = world.run("a").status
    assert (status.state, status.reason, status.result) == ("Failed", "ResultInvalid", None)


@pytest.mark.attack
@pytest.mark.parametrize(
    "outcome",
    [{"skip": {}}, {"defer": {"trigger": {"class": "duration", "kwargs": {"seconds": 1}}}}, {"result": 1, "skip": {}}],
)
def test_no_document_of_a_wrapper_defers_or_skips(outcome: Body) -> None:
    world = started(program("stdout"))
    end(world, message=document(world, **outcome))
    status = world.run("a").status
    assert (status.state, status.reason) == ("Failed", "ResultInvalid")


def test_a_result_that_cannot_be_stored_is_not_retried() -> None:
    world = started(program({"path": "/tmp/out"}, retries={"limit": 3}))
    end(world, message=document(world, fail={"message": "cannot read /tmp/out", "retryable": False}))
    status = world.run("a").status
    assert (status.state, status.reason, status.message) == ("Failed", "ResultInvalid", "cannot read /tmp/out")


def test_a_failed_program_is_retried_and_its_document_does_not_count() -> None:
    world = started(program("stdout", retries={"limit": 1}))
    end(world, code=3, message=document(world, result=1))
    assert world.run("a").status.state == "UpForRetry"


@pytest.mark.parametrize("code", [0, 1, 3, 125])
def test_the_exit_code_is_the_result(code: int) -> None:
    world = started(program("exitCode"))
    end(world, code=code, message="ignored")
    status = world.run("a").status
    assert (status.state, status.result) == ("Succeeded", str(code))


@pytest.mark.parametrize("code", [126, 127, 137, 143])
def test_an_end_by_a_signal_or_a_missing_program_is_a_failure(code: int) -> None:
    world = started(program("exitCode"))
    end(world, code=code)
    assert world.run("a").status.state == "Failed"


@pytest.mark.parametrize(
    ("ended", "state"), [("2026-11-20T10:00:09Z", "Succeeded"), ("2026-11-20T10:00:10Z", "Failed")]
)
def test_the_exit_code_of_a_program_that_a_deletion_stopped_is_no_result(ended: str, state: str) -> None:
    """Somebody deletes the pod at 10:00:10. The API server adds the grace period of 10 seconds."""
    world = started(program("exitCode"))
    pod(world)["metadata"] |= {"deletionTimestamp": "2026-11-20T10:00:20Z", "deletionGracePeriodSeconds": 10}
    terminated = {"exitCode": 1, "reason": "Error", "finishedAt": ended}
    world.kubelet("a", {"phase": "Failed", "containerStatuses": [{"state": {"terminated": terminated}}]})
    assert world.run("a").status.state == state


def test_a_pod_whose_result_is_the_exit_code_needs_no_wrapper() -> None:
    spec = pod(started(program("exitCode")))["spec"]
    assert "initContainers" not in spec
    assert spec["containers"][0]["command"] == ["p"]
