"""Steps of a container task: the order in the pod, what each has, and the result of each by its name."""

import json
from typing import Any

import pytest
from torpor_crds.models.archive import ArchiveEndpoint, StoredResult
from torpor_operator.model.pod import pod_name
from torpor_operator.model.step_parts import CombineSteps, StepsCombined, StepsNotCombined

from tests.support.builders import Body, python
from tests.support.plan_fixture import PlanFixture

STEPS: list[Body] = [
    {"name": "build", "image": "builder:1", "script": "make", "result": "stdout", "env": [{"name": "A", "value": "1"}]},
    {"name": "check", "command": ["check", "${params.level}"], "result": {"path": "/work/report"}},
    {"name": "push", "image": "push:1", "command": ["push"], "env": [{"name": "B", "value": "2"}]},
]
PARAMS = {"level": "strict", "tag": "v2"}


def task(*steps: Body, **fields: Any) -> Body:
    return {"name": "a", "container": {"steps": list(steps or STEPS)}, **fields}


def started(*steps: Body, **fields: Any) -> PlanFixture:
    return PlanFixture(task(*steps, **fields), params=PARAMS).settle()


def pod(world: PlanFixture) -> Body:
    found: Body = world.pods[pod_name(world.run("a"))]
    return found


def env(container: Body) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in container["env"]}


def test_all_but_the_last_step_are_init_containers_in_order() -> None:
    spec = pod(started())["spec"]
    runtime, build, check = spec["initContainers"]
    (main,) = spec["containers"]
    assert [each["name"] for each in (runtime, build, check, main)] == ["torpor-runtime", "build", "check", "main"]
    assert [each["image"] for each in (build, check, main)] == ["builder:1", "ingest:1.4", "push:1"]
    assert build["command"] == ["/torpor/torpor-tool", "run", "--stdout", "--", "sh", "/torpor/scripts/build"]
    assert check["command"][:4] == ["/torpor/torpor-tool", "run", "--file", "/work/report"]
    assert check["command"][-1] == "strict"
    assert main["command"] == ["push"]
    assert env(runtime) == {"TORPOR_COPY": "tool", "TORPOR_SCRIPT_build": "make"}


def test_steps_share_arguments_and_have_variables_of_their_own() -> None:
    spec = pod(started(args={"day": "monday"}, pod={"env": [{"name": "SHARED", "value": "x"}]}))["spec"]
    _, build, check = spec["initContainers"]
    (main,) = spec["containers"]
    for container in (build, check, main):
        assert (env(container)["day"], env(container)["SHARED"]) == ("monday", "x")
        assert env(container)["TORPOR_TASK"] == "a"
    assert [("A" in env(each), "B" in env(each)) for each in (build, check, main)] == [
        (True, False),
        (False, False),
        (False, True),
    ]


@pytest.mark.attack
def test_only_a_step_with_a_wrapper_has_the_nonce_and_none_has_a_token() -> None:
    world = started(*STEPS[:2], {"name": "plain", "command": ["x"]}, STEPS[2])
    spec = pod(world)["spec"]
    nonces = {
        each["name"]: "TORPOR_OUTCOME_NONCE" in env(each) for each in (*spec["initContainers"][1:], *spec["containers"])
    }
    assert nonces == {"build": True, "check": True, "plain": False, "main": True}
    mounts = [mount["name"] for each in spec["initContainers"] for mount in each.get("volumeMounts", [])]
    assert "torpor-credentials" not in mounts
    assert not [volume for volume in spec["volumes"] if "projected" in volume]


def document(world: PlanFixture, **outcome: object) -> str:
    nonce = pod(world)["metadata"]["annotations"]["torpor.dev/outcome-nonce"]
    return json.dumps({"torpor": 1, "nonce": nonce, **outcome})


def ends(world: PlanFixture, main: Body, **steps: Body) -> PlanFixture:
    def terminated(end: Body) -> Body:
        code, message = end.get("code", 0), end.get("message", "")
        return {"terminated": {"exitCode": code, "reason": "Completed", "message": message}}

    world.kubelet(
        "a",
        {
            "phase": "Failed" if any(each.get("code") for each in (main, *steps.values())) else "Succeeded",
            "initContainerStatuses": [{"name": name, "state": terminated(end)} for name, end in steps.items()],
            "containerStatuses": [
                {"name": "main", "state": {"waiting": {}} if main.get("waiting") else terminated(main)}
            ],
        },
    )
    return world


def test_the_result_has_that_of_each_step() -> None:
    world = started()
    built, checked = document(world, result="v2"), document(world, result={"errors": 0})
    ends(world, {"message": "3"}, build={"message": built}, check={"message": checked})
    status = world.run("a").status
    assert status.state == "Succeeded"
    assert json.loads(status.result or "") == {"build": "v2", "check": {"errors": 0}, "push": 3}


def test_a_step_without_a_message_has_the_result_null() -> None:
    world = started({"name": "one", "command": ["x"]}, {"name": "two", "command": ["y"]})
    ends(world, {}, one={})
    assert json.loads(world.run("a").status.result or "") == {"one": None, "two": None}


@pytest.mark.attack
@pytest.mark.parametrize("forged", ["3", "", '{"torpor": 1, "nonce": "guessed", "result": 1}', '{"build": "forged"}'])
def test_no_step_reports_in_the_name_of_another(forged: str) -> None:
    world = started()
    ends(world, {"message": '{"build": "forged"}'}, build={"message": forged}, check={"message": "x"})
    status = world.run("a").status
    assert (status.state, status.reason) == ("Failed", "ResultInvalid")
    assert (status.message or "").startswith("step build: ")


@pytest.mark.attack
def test_a_document_of_a_plain_step_is_data() -> None:
    world = started({"name": "one", "command": ["x"]}, {"name": "two", "command": ["y"]})
    text = '{"torpor": 1, "nonce": "", "defer": {}}'
    ends(world, {"message": text}, one={"message": text})
    assert json.loads(world.run("a").status.result or "") == {"one": json.loads(text), "two": json.loads(text)}


def test_a_failed_step_fails_the_attempt_by_its_name() -> None:
    world = started(retries={"limit": 1})
    ends(world, {"waiting": True}, build={"code": 4, "message": "no compiler"})
    status = world.run("a").status
    assert (status.state, status.message) == (
        "UpForRetry",
        "container build failed: Completed, exit code 4: no compiler",
    )


DIGEST = "0" * 64
STORED = StoredResult(size=90_000, digest=DIGEST, type="object", length=3, keys='["build","check","push"]')


def test_a_result_of_a_step_in_the_archive_makes_the_archive_combine_all() -> None:
    world = started()
    world.api.combined = StepsCombined(STORED)
    archived = {"size": 9000, "digest": DIGEST, "type": "string"}
    built, checked = document(world, archived=archived), document(world, result=[1])
    ends(world, {"message": "3"}, build={"message": built}, check={"message": checked})
    run = world.run("a")
    assert (run.status.state, run.status.stored, run.status.result) == ("Succeeded", STORED, None)
    (need,) = (need for need in world.api.confirmed if isinstance(need, CombineSteps))
    assert [(part.name, part.text, part.digest) for part in need.parts] == [
        ("build", None, DIGEST),
        ("check", "[1]", None),
        ("push", "3", None),
    ]


def test_results_that_are_too_large_together_are_combined_by_the_archive() -> None:
    steps = [{"name": f"s{number}", "command": ["x"]} for number in range(3)]
    world = started(*steps)
    world.api.combined = StepsCombined(STORED)
    message = {"message": "x" * 3000}
    ends(world, message, s0=message, s1=message)
    assert world.run("a").status.stored == STORED


@pytest.mark.parametrize(
    ("answer", "state", "reason"),
    [
        (StepsNotCombined(message="item 0 has too many bytes", is_final=True), "Failed", "ResultInvalid"),
        (StepsNotCombined(message="no answer"), "Running", None),
    ],
)
def test_an_archive_that_does_not_combine_fails_the_task_or_is_asked_again(
    answer: StepsNotCombined, state: str, reason: str | None
) -> None:
    world = started(retries={"limit": 1})
    world.api.combined = answer
    archived = {"size": 9000, "digest": DIGEST, "type": "string"}
    built, checked = document(world, archived=archived), document(world, result=[1])
    ends(world, {"message": "3"}, build={"message": built}, check={"message": checked})
    assert (world.run("a").status.state, world.run("a").status.reason) == (state, reason)
    if state == "Running":
        world.advance(1000)
        assert (world.run("a").status.state, world.run("a").status.reason) == ("UpForRetry", "ResultNotStored")
        assert "no answer" in (world.run("a").status.message or "")


@pytest.mark.attack
def test_only_steps_with_a_wrapper_have_the_token_of_the_archive() -> None:
    world = PlanFixture(task(*STEPS[:2], {"name": "plain", "command": ["x"]}, STEPS[2]), params=PARAMS)
    world.api.archive = ArchiveEndpoint("https://archive:8443", "pem")
    spec = pod(world.settle())["spec"]
    steps = [*spec["initContainers"][1:], *spec["containers"]]
    mounted = {
        each["name"]: any(mount["name"] == "torpor-credentials" for mount in each["volumeMounts"]) for each in steps
    }
    assert mounted == {"build": True, "check": True, "plain": False, "main": True}
    named = {each["name"]: (env(each).get("TORPOR_STEP"), "TORPOR_ARCHIVE_URL" in env(each)) for each in steps}
    assert named == {
        "build": ("build", True),
        "check": ("check", True),
        "plain": (None, False),
        "main": (None, True),
    }
    (credentials,) = (volume for volume in spec["volumes"] if volume["name"] == "torpor-credentials")
    audiences = [source["serviceAccountToken"]["audience"] for source in credentials["projected"]["sources"]]
    assert audiences == ["torpor-archive"]


@pytest.mark.parametrize(("size", "state"), [(2457, "Failed"), (2456, "Succeeded")])
def test_a_message_of_an_earlier_step_that_was_cut_is_no_result(size: int, state: str) -> None:
    steps = [{"name": f"s{number}", "command": ["x"]} for number in range(5)]
    world = started(*steps)
    ends(world, {"message": "1"}, s0={"message": "x" * size}, s1={}, s2={}, s3={})
    assert world.run("a").status.state == state
    if state == "Failed":
        assert (world.run("a").status.message or "").startswith(f"step s0: the termination message has {size} bytes")


@pytest.mark.parametrize(("count", "most"), [(2, None), (3, "3071"), (5, "2047")])
def test_the_wrappers_of_a_pod_know_their_share_of_the_outcome(count: int, most: str | None) -> None:
    steps = [{"name": f"s{number}", "command": ["x"], "result": "stdout"} for number in range(count)]
    world = started(*steps)
    assert pod(world)["metadata"]["annotations"].get("torpor.dev/outcome-max") == most
    spec = pod(world)["spec"]
    field = {"fieldRef": {"fieldPath": "metadata.annotations['torpor.dev/outcome-max']"}}
    shares = [
        next(each for each in container["env"] if each["name"] == "TORPOR_OUTCOME_MAX")["valueFrom"]
        for container in (*spec["initContainers"][1:], *spec["containers"])
    ]
    assert shares == [field] * count


def test_images_of_steps_have_expressions_of_the_author() -> None:
    world = started(
        {"name": "one", "image": "a:${params.tag}", "command": ["x"]}, {"name": "two", "image": "b:${params.tag}"}
    )
    spec = pod(world)["spec"]
    assert (spec["initContainers"][-1]["image"], spec["containers"][0]["image"]) == ("a:v2", "b:v2")
    bad = task({"name": "one", "image": "${tasks.b.result}"}, {"name": "two"})
    world = PlanFixture(python("b"), bad).settle()
    assert "container.steps[0].image" in world.condition()[2]


@pytest.mark.attack
@pytest.mark.parametrize("name", ["main", "torpor-runtime"])
def test_a_step_never_has_the_name_of_another_container(name: str) -> None:
    world = started({"name": name, "command": ["x"]}, {"name": "two", "command": ["x"]})
    assert world.status.state == "Failed"
    assert "rename" in world.condition()[2]


def test_the_exit_code_of_a_failed_step_is_that_of_the_attempt() -> None:
    world = started(retries={"limit": 3, "when": "exitCode == 7"})
    ended = {"terminated": {"exitCode": 7, "reason": "Error"}}
    world.kubelet(
        "a",
        {
            "phase": "Failed",
            "initContainerStatuses": [{"name": "build", "state": ended}],
            "containerStatuses": [{"name": "main", "state": {"waiting": {"reason": "PodInitializing"}}}],
        },
    )
    assert (world.run("a").status.state, world.run("a").status.exit_code) == ("UpForRetry", 7)
