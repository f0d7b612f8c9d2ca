"""How the runtime and the files of `source` get into the pod of a python task."""

from typing import Any

import pytest
from torpor_operator.settings import Settings

from tests.support.builders import Body, container, python
from tests.support.plan_fixture import PlanFixture

START = ["python3", "/torpor/start.py"]
SOURCE = {"configMap": "etl"}


def pod_of(*tasks: Body, image_volumes: bool = False, settings: Settings | None = None, **spec: Any) -> Body:
    world = PlanFixture(*tasks, settings=settings, **spec)
    world.image_volumes = image_volumes
    (pod,) = world.settle().pods.values()
    pod_spec: Body = pod["spec"]
    return pod_spec


def names(entries: list[Body]) -> list[str]:
    return [entry["name"] for entry in entries]


@pytest.mark.parametrize(
    ("of_workflow", "of_task", "injected"),
    [
        ({}, {}, True),
        ({"runtime": "Inject"}, {}, True),
        ({"runtime": "Image"}, {}, False),
        ({"runtime": "Image"}, {"runtime": "Inject"}, True),
        ({"runtime": "Inject"}, {"runtime": "Image"}, False),
    ],
)
def test_the_runtime_of_a_task_overrides_that_of_its_workflow(
    of_workflow: Body, of_task: Body, *, injected: bool
) -> None:
    (main,) = pod_of(python("load", **of_task), **of_workflow)["containers"]

    assert main["command"] == (START if injected else ["python", "-m", "torpor"])
    assert ("torpor-runtime" in names(main["volumeMounts"])) is injected


def test_only_the_runtime_of_an_image_is_stored_on_the_taskrun() -> None:
    for runtime, stored in (("Inject", None), ("Image", "Image")):
        world = PlanFixture(python("load"), container("count"), runtime=runtime).settle()
        specs = {body["spec"]["task"]: body["spec"] for body in world.taskruns.values()}
        assert (specs["load"].get("runtime"), specs["count"].get("runtime")) == (stored, None)


def test_a_container_task_has_neither_runtime_nor_source() -> None:
    world = PlanFixture(container("count"), source=SOURCE)
    for _ in range(2):
        world.apply(world.plan())
    (pod,) = world.pods.values()

    assert "initContainers" not in pod["spec"]
    assert names(pod["spec"]["volumes"]) == ["torpor-tmp"]


def test_the_init_container_requests_no_more_than_the_task_and_no_devices() -> None:
    resources = {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"memory": "4Gi", "nvidia.com/gpu": "1"}}
    spec = pod_of(python("load", pod={"resources": resources}))

    (copy,) = spec["initContainers"]
    assert copy["resources"] == {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"memory": "4Gi"}}
    assert spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"


def test_the_task_cannot_write_to_its_runtime_and_files() -> None:
    for image_volumes in (True, False):
        (main,) = pod_of(python("load", source=SOURCE), image_volumes=image_volumes)["containers"]
        read_only = {mount["name"]: mount.get("readOnly", False) for mount in main["volumeMounts"]}
        assert read_only["torpor-runtime"]
        assert read_only["torpor-source"]


def test_an_injected_task_is_not_root_although_its_image_may_be() -> None:
    (main,) = pod_of(python("load"))["containers"]
    assert main["securityContext"]["runAsUser"] == 65532

    (main,) = pod_of(python("load", pod={"securityContext": {"runAsUser": 1000}}))["containers"]
    assert main["securityContext"]["runAsUser"] == 1000


def test_an_installation_can_keep_the_user_of_the_image() -> None:
    spec = pod_of(python("load"), settings=Settings(task_user=0))

    assert "runAsUser" not in spec["containers"][0]["securityContext"]
    assert "runAsUser" not in spec["initContainers"][0]["securityContext"]


def test_a_writable_root_file_system_is_for_the_task_alone() -> None:
    spec = pod_of(python("load", pod={"securityContext": {"readOnlyRootFilesystem": False}}))

    assert not spec["containers"][0]["securityContext"]["readOnlyRootFilesystem"]
    assert spec["initContainers"][0]["securityContext"]["readOnlyRootFilesystem"]


def test_variables_of_the_task_override_the_defaults_of_an_injected_pod() -> None:
    (main,) = pod_of(python("load", pod={"env": [{"name": "PYTHONUNBUFFERED", "value": ""}]}))["containers"]

    values = [variable["value"] for variable in main["env"] if variable["name"] == "PYTHONUNBUFFERED"]
    assert values == ["1", ""], "the last one counts"


def test_a_source_is_mounted_with_either_runtime() -> None:
    for runtime in ("Inject", "Image"):
        spec = pod_of(python("load"), runtime=runtime, source=SOURCE)
        (main,) = spec["containers"]
        assert {"name": "torpor-source", "configMap": {"name": "etl"}} in spec["volumes"]
        assert {"name": "TORPOR_SOURCE", "value": "/torpor-source"} in main["env"]
        assert {"name": "torpor-source", "mountPath": "/torpor-source", "readOnly": True} in main["volumeMounts"]


def test_the_source_of_a_task_overrides_that_of_its_workflow() -> None:
    spec = pod_of(python("load", source={"configMap": "own"}), source=SOURCE)

    assert [volume["configMap"]["name"] for volume in spec["volumes"] if "configMap" in volume] == ["own"]
