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


def test_a_task_may_set_writable_root_user_and_groups() -> None:
    chosen = fields(
        securityContext={"readOnlyRootFilesystem": False, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 2000}
    )
    assert pod_security.of_container(DEFAULTS, chosen)["readOnlyRootFilesystem"] is False
    assert pod_security.scratch(DEFAULTS, chosen) == ([], [])
    context = pod_security.of_container(DEFAULTS, chosen)
    assert (context["runAsUser"], context["runAsGroup"]) == (1000, 1000)
    pod = pod_security.of_pod(chosen)
    assert (pod["fsGroup"], pod["runAsNonRoot"]) == (2000, True)


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


CAPABILITIES = {"add": ["NET_ADMIN"]}


@pytest.mark.parametrize(
    ("context", "level", "field"),
    [
        ({}, "restricted", ""),
        ({"runAsUser": 1000, "runAsGroup": 0, "fsGroup": 0, "supplementalGroups": [0]}, "restricted", ""),
        ({"capabilities": {"add": ["NET_BIND_SERVICE"]}}, "restricted", ""),
        ({"capabilities": {"drop": ["ALL"]}}, "restricted", ""),
        ({"runAsUser": 0}, "baseline", "runAsUser"),
        ({"allowPrivilegeEscalation": True}, "baseline", "allowPrivilegeEscalation"),
        ({"capabilities": {"add": ["CHOWN"]}}, "baseline", "capabilities.add"),
        ({"capabilities": {"drop": ["MKNOD"]}}, "baseline", "capabilities.drop"),
        ({"capabilities": {"drop": []}}, "baseline", "capabilities.drop"),
        ({"capabilities": CAPABILITIES, "runAsUser": 0}, "privileged", "capabilities.add"),
        ({"privileged": True}, "privileged", "privileged"),
    ],
)
def test_privileges_need_a_level_of_the_namespace(context: dict[str, Any], level: str, field: str) -> None:
    chosen = fields(securityContext=context)
    assert chosen.security_context is not None
    assert pod_security.required_level(chosen.security_context) == (
        pod_security.PodSecurityLevel[level.upper()],
        field,
    )
    labels = ["restricted", "baseline", "privileged"]
    allowed = [label for label in labels if not pod_security.pod_refusal(chosen, "n", label)]
    assert allowed == labels[pod_security.PodSecurityLevel[level.upper()] :]


@pytest.mark.parametrize("label", ["", "Privileged", "none", "restricted"])
def test_a_namespace_without_a_level_allows_no_privileges(label: str) -> None:
    said = pod_security.pod_refusal(fields(securityContext={"runAsUser": 0}), "n", label)
    assert "runAsUser needs Pod Security level baseline, and namespace n allows" in said


def test_root_has_its_own_group_and_no_capabilities_by_default() -> None:
    chosen = fields(securityContext={"runAsUser": 0})
    assert pod_security.of_container(DEFAULTS, chosen) == {
        "runAsUser": 0,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert "runAsNonRoot" not in pod_security.of_pod(chosen)


def test_a_privileged_container_has_no_setting_that_contradicts_it() -> None:
    chosen = fields(securityContext={"privileged": True, "readOnlyRootFilesystem": False, "runAsUser": 0})
    assert pod_security.of_container(DEFAULTS, chosen) == {
        "privileged": True,
        "runAsUser": 0,
        "readOnlyRootFilesystem": False,
    }


def test_a_container_without_a_user_gets_the_default_one() -> None:
    assert pod_security.of_container(DEFAULTS, fields())["runAsUser"] == 65532
    assert "runAsUser" not in pod_security.of_container(DEFAULTS, fields(), of_image=True)
    kept = Settings(task_user=0).pod_defaults()
    assert "runAsUser" not in pod_security.of_container(kept, fields())


def test_privileges_of_a_sidecar_count() -> None:
    root = {"securityContext": {"runAsUser": 0}, "image": "postgres"}
    for chosen in (fields(sidecars=[{"name": "db", **root}]), fields(initContainers=[{"name": "first", **root}])):
        assert "runAsUser needs" in pod_security.pod_refusal(chosen, "n", "restricted")
        assert not pod_security.pod_refusal(chosen, "n", "baseline")
        assert "runAsNonRoot" not in pod_security.of_pod(chosen)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("sidecar", "field"),
    [
        ({"ports": [{"containerPort": 80, "hostPort": 80}]}, "sidecars.ports.hostPort"),
        ({"startupProbe": {"httpGet": {"port": 80, "host": "169.254.169.254"}}}, "sidecars: host of a probe"),
        ({"livenessProbe": {"tcpSocket": {"port": 2379, "host": "127.0.0.1"}}}, "sidecars: host of a probe"),
    ],
)
def test_a_sidecar_reaches_the_node_only_where_it_is_allowed(sidecar: dict[str, Any], field: str) -> None:
    chosen = fields(sidecars=[{"name": "db", "image": "postgres", **sidecar}])
    for label in ("", "restricted", "baseline"):
        assert f"pod.{field} needs Pod Security level privileged" in pod_security.pod_refusal(chosen, "n", label)
    assert not pod_security.pod_refusal(chosen, "n", "privileged")


def test_ports_and_probes_of_the_pod_itself_need_no_level() -> None:
    probe = {"httpGet": {"port": 80, "path": "/"}, "periodSeconds": 1}
    sidecar = {"name": "db", "image": "postgres", "ports": [{"containerPort": 80}], "readinessProbe": probe}
    assert not pod_security.pod_refusal(fields(sidecars=[sidecar]), "n", "")


@pytest.mark.attack
@pytest.mark.parametrize(
    ("profile", "is_allowed"),
    [("unconfined", False), ("${params.x}", False), ("runtime/default", True), ("localhost/own", True)],
)
def test_an_annotation_that_ends_apparmor_needs_a_level(profile: str, *, is_allowed: bool) -> None:
    chosen = fields(annotations={"container.apparmor.security.beta.kubernetes.io/main": profile, "team": "unconfined"})
    assert (not pod_security.pod_refusal(chosen, "n", "baseline")) is is_allowed
    assert not pod_security.pod_refusal(chosen, "n", "privileged")


@pytest.mark.attack
@pytest.mark.parametrize("prefix", ["seccomp.security", "container.seccomp.security"])
def test_an_annotation_of_seccomp_needs_a_level(prefix: str) -> None:
    chosen = fields(annotations={f"{prefix}.alpha.kubernetes.io/pod": "unconfined"})
    assert pod_security.pod_refusal(chosen, "n", "baseline")
    assert not pod_security.pod_refusal(chosen, "n", "privileged")
