"""What the workflow bench is built of: what is reckoned of what was measured, and how it reads pods and runs."""

import json
from typing import Any

from torpor.runtime import environment as launches
from torpor_crds.models import taskrun as taskruns
from torpor_operator.model.snapshot import PodContext
from torpor_operator.taskrun import pod_builder
from torpor_wire import constants

from benchmarks.workflow import kubelet, processes, rows, runs
from benchmarks.workflow.measurement import Measurement

CPU = {"etcd": 1.0, "kube-apiserver": 8.0, "operator": 2.0, "kubelet": 1.0, "worker": 0.5, "foreign": 100.0}


def taken(tasks: int, wall: float, **more: Any) -> Measurement:
    return Measurement(name="it", tasks=tasks, wall=wall, cpu=CPU, **more)


def body() -> dict[str, Any]:
    """A task's pod as the API server shows it once it is bound."""
    run = taskruns.parse(
        {
            "metadata": {
                "name": "run-a-12345",
                "namespace": "ns",
                "uid": "run",
                "creationTimestamp": "2026-11-21T12:00:00Z",
            },
            "spec": {"workflow": {"name": "run", "uid": "u"}, "task": "a", "image": "i", "python": "m:f"},
        }
    )
    made = pod_builder.build(run, PodContext(service_account="sa", system_namespace="system", runtime_image="runtime"))
    made["metadata"]["uid"] = "pod"
    made["spec"]["nodeName"] = "node-0"
    return made


def test_what_others_used_of_the_machine_is_not_a_tasks() -> None:
    assert taken(1000, 10.0).each() == 12.5
    assert taken(1000, 10.0).each("operator") == 2.0


def test_a_fan_out_is_told_in_floors_of_its_own_size() -> None:
    sizes = {"workflow": 4000.0, "memory": 9000.0}
    found = {one.name: one for one in rows.fan_out(taken(1000, 10.0, sizes=sizes), taken(500, 2.5))}
    assert found["fan_1000_floors"].value == 2.0
    assert found["fan_1000_operator"].value == 2.0
    assert found["workflow_1000"].value == 4.0
    assert found["memory_1000"].value == 9.0


def test_a_chain_is_told_by_its_step() -> None:
    assert rows.chain(taken(50, 2.5))[0].value == 0.05


def test_every_word_on_the_peers_stands_beside_a_row_of_the_default() -> None:
    sizes = {"workflow": 4000.0, "memory": 9000.0}
    small = {"alone": (0.1,), "beside": (0.1, 0.2)}
    fans = [taken(count, 1.0, sizes=sizes, to_pods=small, to_ends=small) for count in (100, 1000, 10_000)]
    made = rows.all_of(taken(1000, 8.0), fans, [taken(50, 5.0)], [taken(200, 5.0)])
    assert rows.BESIDE.keys() <= {one.name for one in made}
    assert len({one.name for one in made}) == len(made)


def test_the_kubelet_hands_a_tasks_pod_to_the_worker_as_its_environment() -> None:
    pod = kubelet._slim(body())
    assert pod.bound
    assert pod.environ is not None
    variables = json.loads(pod.environ)
    found = launches.read(variables, "nonce", variables[constants.ENV_POD_UID])
    assert (found.taskrun, found.uid, found.pod_uid) == ("run-a-12345", "run", "pod")


def test_a_pod_that_is_not_a_tasks_has_nobody_to_wait_for() -> None:
    bare = body()
    bare["spec"]["containers"][0]["env"] = [
        each for each in bare["spec"]["containers"][0]["env"] if each["name"] != constants.ENV_RUNTIME
    ]
    assert kubelet._slim(bare).environ is None


def test_a_pod_that_is_not_bound_is_not_run() -> None:
    waiting = body()
    del waiting["spec"]["nodeName"]
    assert not kubelet._slim(waiting).bound


def test_the_kubelet_reports_every_container_of_a_pod() -> None:
    several = body()
    several["spec"]["containers"].append({"name": "wait", "image": "executor"})
    several["spec"]["initContainers"] = [{"name": "init", "image": "executor"}]
    status = kubelet._status(kubelet._slim(several), "Running", "2026-11-21T12:00:00Z", {"running": {}})
    assert [one["name"] for one in status["containerStatuses"]] == ["main", "wait"]
    assert [list(one["state"]) for one in status["initContainerStatuses"]] == [["terminated"]]


def test_a_pod_without_init_containers_has_no_status_of_any() -> None:
    plain = body()
    plain["spec"].pop("initContainers", None)
    status = kubelet._status(kubelet._slim(plain), "Running", "2026-11-21T12:00:00Z", {"running": {}})
    assert "initContainerStatuses" not in status


def test_a_run_has_ended_when_it_has_a_completion_time() -> None:
    running: dict[str, Any] = {"metadata": {"name": "a"}, "status": {"state": "Running"}}
    assert runs._state(running) == ("a", "")
    ended = running | {"status": {"state": "Succeeded", "completionTime": "2026-11-21T12:00:00Z"}}
    assert runs._state(ended) == ("a", "Succeeded")


def test_the_machines_time_is_counted_beside_that_of_its_processes() -> None:
    assert processes._busy() > 0
