"""The security defaults of task pods, and what a task and the installation may change."""

from typing import Any

import pytest
from torpor_crds.models.pod_fields import PodFields
from torpor_operator import pod_security
from torpor_operator.pod_security import PodDefaults
from torpor_operator.settings import Settings

DEFAULTS = Settings().pod_defaults()


def fields(**chosen: Any) -> PodFields:
    return PodFields.model_validate(chosen)


def test_the_default_pod_has_a_read_only_root_a_tmp_a_group_and_a_limit() -> None:
    assert pod_security.of_container(DEFAULTS, fields())["readOnlyRootFilesystem"] is True
    assert pod_security.of_container(DEFAULTS, fields())["runAsGroup"] == 65532
    assert "runAsGroup" not in pod_security.of_pod(fields()), "containerd makes no sandbox of a group without a user"
    volumes, mounts = pod_security.scratch(DEFAULTS, fields())
    assert volumes == [{"name": "torpor-tmp", "emptyDir": {"sizeLimit": "1Gi"}}]
    assert mounts == [{"name": "torpor-tmp", "mountPath": "/tmp"}]
    assert pod_security.resources(DEFAULTS, fields()) == {
        "requests": {"cpu": "10m", "memory": "32Mi"},
        "limits": {"memory": "1Gi"},
    }


def test_a_task_may_set_writable_root_user_and_groups_but_never_be_root() -> None:
    chosen = fields(
        securityContext={"readOnlyRootFilesystem": False, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 2000}
    )
    assert pod_security.of_container(DEFAULTS, chosen)["readOnlyRootFilesystem"] is False
    assert pod_security.scratch(DEFAULTS, chosen) == ([], [])
    context = pod_security.of_container(DEFAULTS, chosen)
    assert (context["runAsUser"], context["runAsGroup"]) == (1000, 1000)
    pod = pod_security.of_pod(chosen)
    assert (pod["fsGroup"], pod["runAsNonRoot"]) == (2000, True)
    with pytest.raises(ValueError, match="runAsUser"):
        fields(securityContext={"runAsUser": 0})


@pytest.mark.parametrize("path", ["/tmp", "/tmp/"])
def test_a_volume_of_the_task_at_tmp_replaces_the_default(path: str) -> None:
    chosen = fields(
        volumes=[{"name": "scratch", "emptyDir": {}}], volumeMounts=[{"name": "scratch", "mountPath": path}]
    )
    assert pod_security.scratch(DEFAULTS, chosen) == ([], [])
    assert pod_security.of_container(DEFAULTS, chosen)["readOnlyRootFilesystem"] is True


RESOURCES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a limit of memory": ({"limits": {"memory": "8Gi"}}, {"limits": {"memory": "8Gi"}}),
    "a request of memory": ({"requests": {"memory": "8Gi"}}, {"requests": {"memory": "8Gi"}}),
    "CPU alone": (
        {"requests": {"cpu": "2"}},
        {"requests": {"cpu": "2", "memory": "32Mi"}, "limits": {"memory": "1Gi"}},
    ),
}


@pytest.mark.parametrize("case", RESOURCES)
def test_resources_of_the_task_are_kept_and_no_limit_becomes_a_request(case: str) -> None:
    requested, expected = RESOURCES[case]
    assert pod_security.resources(DEFAULTS, fields(resources=requested)) == expected


def test_an_installation_may_disable_the_defaults() -> None:
    settings = Settings(task_group=0, task_read_only_root=False, task_tmp_size="", task_memory_limit="")
    lax = settings.pod_defaults()
    assert lax == PodDefaults(group=0, read_only=False, scratch="", limits={})
    assert "runAsGroup" not in pod_security.of_container(lax, fields())
    assert pod_security.of_container(lax, fields())["readOnlyRootFilesystem"] is False
    assert "limits" not in pod_security.resources(lax, fields())
    sealed = fields(securityContext={"readOnlyRootFilesystem": True})
    assert pod_security.scratch(lax, sealed)[0] == [{"name": "torpor-tmp", "emptyDir": {}}]


def test_the_installation_may_set_a_cpu_limit() -> None:
    strict = Settings(task_cpu_limit="2").pod_defaults()
    assert pod_security.resources(strict, fields())["limits"] == {"cpu": "2", "memory": "1Gi"}
