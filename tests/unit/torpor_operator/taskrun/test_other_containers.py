"""Init containers and sidecars: how they are in the pod, what they may not have, and how their ends are reported."""

from typing import Any

import pytest
from torpor_operator.model.pod import pod_name
from torpor_operator.model.snapshot import PodWarning

from tests.support.builders import Body, container, python
from tests.support.plan_fixture import PlanFixture

INIT = {"name": "fetch", "image": "fetch:1", "command": ["fetch"], "volumeMounts": [{"name": "d", "mountPath": "/d"}]}
SIDECAR = {
    "name": "db",
    "image": "postgres:18",
    "ports": [{"containerPort": 5432}],
    "env": [{"name": "POSTGRES_PASSWORD", "value": "x"}],
    "startupProbe": {"tcpSocket": {"port": 5432}},
    "securityContext": {"runAsUser": 70, "readOnlyRootFilesystem": False},
}
POD = {"initContainers": [INIT], "sidecars": [SIDECAR], "volumes": [{"name": "d", "emptyDir": {}}]}
TASKS = [python("a", pod=POD), container("a", pod=POD)]


def pod(world: PlanFixture) -> Body:
    found: Body = world.pods[pod_name(world.run("a"))]
    return found


def started(task: Body, **spec: Any) -> PlanFixture:
    return PlanFixture(task, **spec).settle()


@pytest.mark.parametrize("task", TASKS)
def test_init_containers_come_before_sidecars_and_both_before_the_task(task: Body) -> None:
    spec = pod(started(task))["spec"]
    names = [each["name"] for each in spec["initContainers"] if each["name"] != "torpor-runtime"]
    assert names == ["fetch", "db"]
    assert [each["name"] for each in spec["containers"]] == ["main"]
    fetch, db = spec["initContainers"][-2:]
    assert "restartPolicy" not in fetch
    assert (db["restartPolicy"], db["startupProbe"], db["ports"]) == (
        "Always",
        {"tcpSocket": {"port": 5432}},
        [{"containerPort": 5432}],
    )
    assert fetch["command"] == ["fetch"]
    assert {"name": "d", "mountPath": "/d"} in fetch["volumeMounts"]


@pytest.mark.attack
@pytest.mark.parametrize("task", TASKS)
def test_other_containers_have_no_token_and_no_volume_of_the_task(task: Body) -> None:
    world = PlanFixture(task)
    world.api.archive = world.api.archive
    spec = pod(world.settle())["spec"]
    assert spec["automountServiceAccountToken"] is False
    for other in spec["initContainers"][-2:]:
        mounted = {mount["name"] for mount in other.get("volumeMounts", [])}
        assert mounted <= {"d", f"torpor-tmp-{other['name']}"}
        names = {variable["name"] for variable in other.get("env", [])}
        assert not {name for name in names if name.startswith("TORPOR_")}


@pytest.mark.attack
def test_other_containers_are_as_restricted_as_the_task() -> None:
    fetch, db = pod(started(TASKS[1]))["spec"]["initContainers"][-2:]
    for other in (fetch, db):
        context = other["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert other["resources"]["limits"] == {"memory": "1Gi"}
    assert (fetch["securityContext"]["readOnlyRootFilesystem"], db["securityContext"]["runAsUser"]) == (True, 70)
    assert db["securityContext"]["readOnlyRootFilesystem"] is False


@pytest.mark.attack
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sidecars": [SIDECAR | {"name": "main"}]}, "the container of the task is main"),
        ({"initContainers": [INIT | {"name": "torpor-runtime"}]}, "begins with torpor-"),
        ({"initContainers": [INIT], "sidecars": [SIDECAR | {"name": "fetch"}]}, "two containers have the name fetch"),
        (
            {"sidecars": [SIDECAR | {"volumeMounts": [{"name": "torpor-credentials", "mountPath": "/t"}]}]},
            "container db mounts torpor-credentials: volumes of Torpor are for the task alone",
        ),
    ],
)
def test_a_container_that_takes_the_place_of_another_is_refused(fields: Body, message: str) -> None:
    world = started(python("a", pod=fields))
    assert world.status.state == "Failed"
    assert message in world.condition()[2]


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"volumeMounts": [{"name": "data", "mountPath": "/d"}]}, "pod.volumeMounts[0].name"),
        ({"initContainers": [INIT]}, "pod.initContainers[0].volumeMounts[0].name"),
    ],
)
def test_a_mount_of_an_unknown_volume_fails_the_run_before_a_pod(fields: Body, where: str) -> None:
    volumes = {"volumes": [{"name": "v", "emptyDir": {}}]}
    world = PlanFixture(python("b"), python("a", after=["b"], pod=fields | volumes)).settle()
    assert (world.status.state, world.pods) == ("Failed", {})
    unknown = "d" if "initContainers" in fields else "data"
    assert f"task a: {where}: unknown volume {unknown}; volumes: v; define it" in world.condition()[2]


def test_a_mount_may_name_a_volume_of_the_run_or_of_the_defaults() -> None:
    mounts = {"volumeMounts": [{"name": "claim", "mountPath": "/c"}, {"name": "shared", "mountPath": "/s"}]}
    defaults = {"pod": {"volumes": [{"name": "shared", "emptyDir": {}}]}}
    world = PlanFixture(
        python("a", pod=mounts), volumeClaims=[{"name": "claim", "size": "1Gi"}], defaults=defaults
    ).settle()
    assert world.status.state == "Running"


def ends(world: PlanFixture, phase: str, *, main: Body, **others: Body) -> None:
    statuses = [{"name": name, **status} for name, status in others.items()]
    world.kubelet(
        "a",
        {
            "phase": phase,
            "initContainerStatuses": statuses,
            "containerStatuses": [{"name": "main", "state": main}],
        },
    )


WAITING = {"waiting": {"reason": "PodInitializing"}}


def terminated(code: int, message: str = "") -> Body:
    return {"state": {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "message": message}}}


@pytest.mark.parametrize("task", TASKS)
def test_a_failed_init_container_fails_the_attempt_by_its_name(task: Body) -> None:
    world = started(task | {"retries": {"limit": 1}})
    ends(world, "Failed", main=WAITING, fetch=terminated(3, "no such bucket"))
    status = world.run("a").status
    assert (status.state, status.reason) == ("UpForRetry", "Error")
    assert status.message == "container fetch failed: Error, exit code 3: no such bucket"


@pytest.mark.attack
def test_what_a_sidecar_reports_is_not_the_outcome_of_the_task() -> None:
    world = started(TASKS[1])
    sidecar = terminated(0, '{"torpor": 1, "result": "forged"}')
    ends(world, "Succeeded", main=terminated(0, "the result")["state"], db=sidecar, fetch=terminated(0, "forged"))
    assert world.run("a").status.result == '"the result"'


@pytest.mark.parametrize("code", [1, 137, 143])
def test_the_end_of_a_sidecar_after_the_task_is_no_failure(code: int) -> None:
    world = started(TASKS[1])
    ends(world, "Succeeded", main=terminated(0)["state"], fetch=terminated(0), db=terminated(code))
    assert world.run("a").status.state == "Succeeded"


def test_a_failed_task_is_reported_even_if_its_sidecar_failed_too() -> None:
    world = started(TASKS[1])
    ends(world, "Failed", main=terminated(2, "mine")["state"], fetch=terminated(0), db=terminated(1, "its"))
    assert world.run("a").status.message == "Error, exit code 2: mine"


def test_a_sidecar_that_crashes_before_the_task_fails_the_launch() -> None:
    world = started(TASKS[1])
    crash = {
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
        "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": "no password"}},
    }
    ends(world, "Pending", main=WAITING, fetch=terminated(0), db=crash)
    status = world.run("a").status
    assert (status.state, status.reason) == ("Running", "LaunchFailed")
    assert status.message == (
        "container db cannot start: CrashLoopBackOff: back-off 10s (last Error, exit code 1: no password)"
    )
    world.advance(world.settings.image_pull_grace + 1).settle()
    assert world.run("a").status.state == "Failed"


def test_a_sidecar_that_crashes_during_a_step_ends_nothing() -> None:
    steps = [{"name": "build", "command": ["make"]}, {"name": "push", "command": ["push"]}]
    world = started({"name": "a", "container": {"steps": steps}, "pod": {"sidecars": [SIDECAR]}})
    running: dict[str, Any] = {"state": {"running": {}}}
    ends(world, "Pending", main=WAITING, db=running | {"started": True}, build=running)
    world.advance(world.settings.image_pull_grace + 1).settle()
    crash = {"state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}, "started": False}
    ends(world, "Pending", main=WAITING, db=crash, build=running)
    assert (world.run("a").status.state, world.run("a").status.reason) == ("Running", None)
    assert len(world.live_pods("a")) == 1


def test_a_sidecar_that_is_never_ready_is_named() -> None:
    world = started(TASKS[1])
    pod(world)["spec"]["nodeName"] = "n"
    running = {"state": {"running": {}}, "started": False}
    ends(world, "Pending", main=WAITING, fetch=terminated(0), db=running)
    world.advance(61).settle()
    status = world.run("a").status
    assert status.reason == "PodPending"
    assert "container db has not started, or is not ready" in (status.message or "")


def test_a_probe_that_fails_names_its_sidecar() -> None:
    world = started(TASKS[1])
    pod(world)["spec"]["nodeName"] = "n"
    world.api.warnings[pod(world)["metadata"]["uid"]] = PodWarning("Unhealthy", "Startup probe failed: refused")
    running = {"state": {"running": {}}, "started": False}
    ends(world, "Pending", main=WAITING, fetch=terminated(0), db=running)
    world.advance(10).settle()
    message = world.run("a").status.message or ""
    assert "cannot start: container db: Unhealthy: Startup probe failed: refused" in message


def test_an_init_container_that_runs_long_is_no_problem() -> None:
    world = started(TASKS[1])
    pod(world)["spec"]["nodeName"] = "n"
    ends(world, "Pending", main=WAITING, fetch={"state": {"running": {}}})
    world.advance(3600).settle()
    assert world.run("a").status.reason is None


@pytest.mark.parametrize(
    ("waiting", "message"),
    [
        (
            {"reason": "ErrImagePull", "message": "not found"},
            "the image of container db cannot be pulled: ErrImagePull: not found",
        ),
        (
            {
                "reason": "CreateContainerConfigError",
                "message": "container has runAsNonRoot and image is root's",
            },
            "container db runs as root, or as a user without a number: set securityContext.runAsUser",
        ),
    ],
)
def test_a_sidecar_that_cannot_start_is_named(waiting: Body, message: str) -> None:
    world = started(TASKS[1])
    ends(world, "Pending", main=WAITING, fetch=terminated(0), db={"state": {"waiting": waiting}})
    assert message in (world.run("a").status.message or "")


def test_expressions_in_other_containers_are_evaluated() -> None:
    fields = {
        "initContainers": [
            INIT
            | {
                "image": "fetch:${params.tag}",
                "command": ["fetch", "${params.day}", "$(HOME)"],
                "env": [{"name": "DAY", "value": "${params.day}"}],
            }
        ],
        "volumes": POD["volumes"],
    }
    world = started(container("a", pod=fields), params={"tag": "v2", "day": "$(x)"})
    fetch = pod(world)["spec"]["initContainers"][-1]
    assert (fetch["image"], fetch["command"]) == ("fetch:v2", ["fetch", "$$(x)", "$(HOME)"])
    assert fetch["env"] == [{"name": "DAY", "value": "$$(x)"}]


@pytest.mark.attack
def test_data_chooses_no_image_of_a_sidecar() -> None:
    fields = {"sidecars": [SIDECAR | {"image": "db:${tasks.b.result}"}]}
    world = started(python("b"))
    world = PlanFixture(python("b"), python("a", pod=fields)).settle()
    assert "pod.sidecars[0].image" in world.condition()[2]
    world = PlanFixture(python("a", pod={"sidecars": [SIDECAR | {"image": "${params.i}"}]}), params={"i": "--x"})
    assert "'--x' is not an image" in world.settle().condition()[2]


@pytest.mark.parametrize(("size", "state"), [(2457, "Failed"), (2456, "Succeeded")])
def test_a_message_that_the_kubelet_cut_to_its_share_is_no_result(size: int, state: str) -> None:
    names = ("one", "two", "three", "four")
    world = started(container("a", pod={"sidecars": [SIDECAR | {"name": name} for name in names]}))
    ends(world, "Succeeded", main=terminated(0, "x" * size)["state"])
    assert world.run("a").status.state == state
    if state == "Failed":
        assert "the kubelet cuts it at 2457" in (world.run("a").status.message or "")
