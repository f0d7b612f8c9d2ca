"""The rules of single fields of a task: retries, privileges, and fields of its pod."""

import json
from typing import Any

import pytest

from tests.integration.conftest import Server, eventually
from tests.support.manifests import manifest

LABEL = "pod-security.kubernetes.io/enforce"
ROOT = {"securityContext": {"runAsUser": 0}}
DIND = {"securityContext": {"privileged": True}}
NET = {"securityContext": {"capabilities": {"add": ["NET_ADMIN"]}}}


def workflow(pod: dict[str, Any], **spec: Any) -> dict[str, Any]:
    task = {"name": "a", "container": {"command": ["echo"]}, "image": "busybox", "pod": pod}
    return manifest("Workflow", "run", {"tasks": [task], **spec})


def set_metadata(server: Server, namespace: str, **metadata: dict[str, str]) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, **metadata}}
    server.apply(body)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("pod", "level", "field"),
    [
        (ROOT, "baseline", "runAsUser"),
        ({"securityContext": {"allowPrivilegeEscalation": True}}, "baseline", "allowPrivilegeEscalation"),
        ({"securityContext": {"capabilities": {"drop": []}}}, "baseline", "capabilities.drop"),
        (NET, "privileged", "capabilities.add"),
        (DIND, "privileged", "privileged"),
    ],
)
def test_privileges_need_the_level_of_the_namespace(
    server: Server, namespace: str, pod: dict[str, Any], level: str, field: str
) -> None:
    sidecar = {"name": "db", "image": "postgres", **pod}
    for body in (
        workflow(pod),
        workflow({}, defaults={"pod": pod}),
        workflow({"sidecars": [sidecar]}),
        workflow({"securityContext": {"runAsUser": 1000}, "initContainers": [{**sidecar, "name": "first"}]}),
    ):
        answer = server.create("workflows", namespace, body)
        assert answer.status == 422
        assert (
            f"pod.securityContext.{field} needs Pod Security level {level}, and namespace {namespace}" in answer.message
        )
    set_metadata(server, namespace, labels={LABEL: level})
    eventually(lambda: server.create("workflows", namespace, workflow(pod)).status == 201, "the level applies")


PROBE = {"httpGet": {"port": 80, "host": "169.254.169.254"}}
APPARMOR = "container.apparmor.security.beta.kubernetes.io/main"
SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"


def sidecar(**fields: Any) -> dict[str, Any]:
    return {"sidecars": [{"name": "db", "image": "postgres", **fields}]}


@pytest.mark.attack
@pytest.mark.parametrize(
    ("pod", "field"),
    [
        (sidecar(ports=[{"containerPort": 80, "hostPort": 80}]), "sidecars.ports.hostPort"),
        (sidecar(startupProbe=PROBE), "sidecars: host of a probe"),
        (sidecar(readinessProbe={"tcpSocket": {"port": 1, "host": "localhost"}}), "sidecars: host of a probe"),
        (sidecar(livenessProbe=PROBE), "sidecars: host of a probe"),
        ({"annotations": {APPARMOR: "unconfined"}}, f"annotations: {APPARMOR}"),
        ({"annotations": {APPARMOR: "localhost/${params.x}"}}, f"annotations: {APPARMOR}"),
        ({"annotations": {SECCOMP: "unconfined"}}, f"annotations: {SECCOMP}"),
    ],
)
def test_what_reaches_the_node_needs_a_privileged_namespace(
    server: Server, namespace: str, pod: dict[str, Any], field: str
) -> None:
    for body in (workflow(pod), workflow({}, defaults={"pod": pod})):
        answer = server.create("workflows", namespace, body)
        assert answer.status == 422
        assert f"pod.{field} needs Pod Security level privileged, and namespace {namespace} allows" in answer.message
    set_metadata(server, namespace, labels={LABEL: "privileged"})
    eventually(lambda: server.create("workflows", namespace, workflow(pod)).status == 201, "the level applies")


def test_ports_probes_and_profiles_that_stay_in_the_pod_are_accepted(server: Server, namespace: str) -> None:
    probe = {"httpGet": {"port": 80, "path": "/", "httpHeaders": [{"name": "Host", "value": "x"}]}}
    pod = sidecar(ports=[{"containerPort": 80}, {"containerPort": 81, "hostPort": 0}], startupProbe=probe)
    pod["annotations"] = {APPARMOR: "runtime/default", "example.org/note": "unconfined"}
    server.create("workflows", namespace, workflow(pod)).expect(201)


@pytest.mark.attack
@pytest.mark.parametrize("kind", ["Workflow", "WorkflowTemplate"])
def test_defaults_above_48_kib_are_rejected(server: Server, namespace: str, kind: str) -> None:
    plural = kind.lower() + "s"
    for pod in (
        {"env": [{"name": f"V{n}", "value": "x" * 4_096} for n in range(12)]},
        {"affinity": {"a": {"b": {f"k{n}": ["x" * 400] for n in range(124)}}}},
        {"annotations": {"a": "\u20ac" * 4_096, "b": "\u20ac" * 4_096, "c": "\u20ac" * 4_096, "d": "\u20ac" * 4_096}},
    ):
        spec = workflow({}, defaults={"pod": pod})["spec"]
        body = manifest(kind, "big", spec if kind == "Workflow" else {"workflow": spec})
        answer = server.create(plural, namespace, body)
        assert answer.status == 422
        assert "spec.defaults.pod has too many bytes" in answer.message
        assert "the limit is 49152" in answer.message
    small = workflow({}, defaults={"pod": {"env": [{"name": f"V{n}", "value": "x" * 4_096} for n in range(11)]}})[
        "spec"
    ]
    server.create(
        plural, namespace, manifest(kind, "small", small if kind == "Workflow" else {"workflow": small})
    ).expect(201)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("pod", "problem"),
    [
        ({"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}, "a volume must be exactly one of"),
        ({"volumes": [{"name": "a", "emptyDir": {}, "csi": {"driver": "x"}}]}, "a volume must be exactly one of"),
        (
            {"volumes": [{"name": "a", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
            "a projected serviceAccountToken needs an audience",
        ),
        ({"priorityClassName": "system-node-critical"}, "is for components of the cluster"),
        ({"serviceAccountToken": True}, "pod.serviceAccountToken needs pod.serviceAccountName beside it"),
    ],
)
def test_pod_fields_that_escape_the_allow_list_are_rejected(
    server: Server, namespace: str, pod: dict[str, Any], problem: str
) -> None:
    answer = server.create("workflows", namespace, workflow(pod))
    assert answer.status == 422
    assert f"task a: {problem}" in answer.message or problem in answer.message
    answer = server.create("workflows", namespace, workflow({}, defaults={"pod": pod}))
    assert f"spec.defaults: {problem}" in answer.message or problem in answer.message


def test_a_token_of_a_named_account_is_accepted(server: Server, namespace: str) -> None:
    pod = {"serviceAccountName": "deployer", "serviceAccountToken": True}
    server.create("workflows", namespace, workflow(pod)).expect(201)


def test_the_first_example_of_argo_is_accepted_as_it_stands(server: Server, namespace: str) -> None:
    task = {"name": "hello", "image": "busybox", "container": {"command": ["echo"], "args": ["hello world"]}}
    server.create("workflows", namespace, manifest("Workflow", "run", {"tasks": [task]})).expect(201)


def test_an_image_may_be_a_default_of_the_run_or_of_the_namespace(server: Server, namespace: str) -> None:
    body = workflow({})
    del body["spec"]["tasks"][0]["image"]
    answer = server.create("workflows", namespace, body)
    assert "a task with a pod needs an image" in answer.message
    defaults = {"spec": {**body["spec"], "defaults": {"image": "busybox"}}}
    server.create("workflows", namespace, body | defaults).expect(201)
    set_metadata(server, namespace, annotations={"torpor.dev/defaults": '{"timeout": "1h", "image": "busybox"}'})
    body["metadata"]["name"] = "other"
    eventually(lambda: server.create("workflows", namespace, body).status == 201, "the annotation applies")


@pytest.mark.parametrize(
    "defaults",
    [
        {"pod": {"sidecars": [{"name": "db", "image": "postgres"}]}},
        {"pod": {"env": [{"name": "A", "value": '}} "image": {"'}], "sidecars": [{"name": "db", "image": "x"}]}},
        {"pod": {"env": [{"name": "image", "value": "image"}]}},
    ],
)
def test_an_image_of_a_sidecar_of_the_namespace_is_not_that_of_a_task(
    server: Server, namespace: str, defaults: dict[str, Any]
) -> None:
    set_metadata(server, namespace, annotations={"torpor.dev/defaults": json.dumps(defaults)})
    body = workflow({})
    del body["spec"]["tasks"][0]["image"]
    answer = server.create("workflows", namespace, body)
    assert answer.status == 422
    assert "a task with a pod needs an image" in answer.message


@pytest.mark.attack
def test_a_run_that_is_created_with_the_finalizer_of_torpor_is_rejected(server: Server, namespace: str) -> None:
    """It would not get the defaults of its namespace."""
    body = workflow({})
    body["metadata"]["finalizers"] = ["example.org/keep", "torpor.dev/cancel-first"]
    answer = server.create("workflows", namespace, body)
    assert answer.status == 422
    assert "metadata.finalizers: the operator adds torpor.dev/cancel-first when the run starts" in answer.message
    body["metadata"]["finalizers"] = ["example.org/keep"]
    server.create("workflows", namespace, body).expect(201)
    path = f"/apis/torpor.dev/v1alpha1/namespaces/{namespace}/workflows/run"
    patch: dict[str, Any] = {"metadata": {"finalizers": []}}
    server.request("PATCH", path, patch, content_type="application/merge-patch+json").expect(200)


@pytest.mark.attack
def test_only_the_operator_adds_defaults_to_a_run(server: Server, namespace: str) -> None:
    server.create("workflows", namespace, workflow({})).expect(201)
    bodies: list[dict[str, Any]] = [{"defaults": {"timeout": "1h"}}, {"defaults": {"logs": "none"}}]
    for body in ({"spec": spec, "metadata": {"finalizers": []}} for spec in bodies):
        path = f"/apis/torpor.dev/v1alpha1/namespaces/{namespace}/workflows/run"
        answer = server.request("PATCH", path, body, content_type="application/merge-patch+json")
        assert answer.status == 422
        assert "spec.defaults cannot change" in answer.message


def retried(**retries: Any) -> dict[str, Any]:
    task = {"name": "a", "python": "m:f", "image": "x", "retries": {"limit": 1, **retries}}
    spec = {"tasks": [task]}
    return manifest("Workflow", "run", spec)


@pytest.mark.parametrize(
    "retries",
    [
        {"delay": "2h", "maxDelay": "1h"},
        {"delay": "1d", "maxDelay": "23h59m"},
        {"delay": "1d12h", "maxDelay": "1d"},
        {"maxDelay": "9s"},
    ],
)
def test_a_longest_pause_below_the_delay_is_rejected(server: Server, namespace: str, retries: dict[str, Any]) -> None:
    answer = server.create("workflows", namespace, retried(**retries))
    assert answer.status == 422, answer.message
    shown = (
        f"task a: retries.maxDelay {retries['maxDelay']} is shorter than retries.delay {retries.get('delay', '10s')}"
    )
    assert shown in answer.message


@pytest.mark.parametrize("retries", [{"delay": "2h"}, {"delay": "2h", "maxDelay": "2h"}, {"delay": "3d"}, {}])
def test_a_long_delay_needs_no_longest_pause(server: Server, namespace: str, retries: dict[str, Any]) -> None:
    stored = server.create("workflows", namespace, retried(**retries)).expect(201)
    assert stored["spec"]["tasks"][0]["retries"].get("maxDelay") == retries.get("maxDelay")


@pytest.mark.parametrize("rule", [{"when": "exitCode == 1"}, {"for": "1h"}])
def test_rules_of_retries_need_a_limit(server: Server, namespace: str, rule: dict[str, str]) -> None:
    answer = server.create("workflows", namespace, retried(**rule, limit=0))
    assert answer.status == 422
    assert "task a: retries.when and retries.for need retries.limit" in answer.message
    server.create("workflows", namespace, retried(**rule, limit=-1)).expect(201)


def test_a_hook_cannot_have_may_fail(server: Server, namespace: str) -> None:
    body = retried()
    body["spec"]["tasks"].append({"name": "b", "python": "m:f", "image": "x", "hook": "end", "mayFail": True})
    answer = server.create("workflows", namespace, body)
    assert answer.status == 422
    assert "task b: a hook does not change the outcome of the run; remove mayFail" in answer.message


WORK = {"name": "work", "size": "1Gi"}


@pytest.mark.parametrize(
    ("claims", "pod", "problem"),
    [
        ([WORK], {"volumes": [{"name": "work", "emptyDir": {}}]}, "has the name of a volume of the run"),
        ([WORK, WORK], {}, "Duplicate value"),
        ([WORK | {"name": "torpor-tmp"}], {}, "names of volumes of Torpor begin with torpor-"),
        ([WORK | {"size": "${params.size}"}], {}, "spec.volumeClaims[0].size"),
        ([WORK | {"size": "a lot"}], {}, "spec.volumeClaims[0].size"),
        ([WORK | {"accessModes": ["ReadWrite"]}], {}, "Unsupported value"),
        ([WORK | {"deletion": "Soon"}], {}, "Unsupported value"),
        ([WORK | {"name": f"w{number}"} for number in range(11)], {}, "must have at most 10 items"),
    ],
)
def test_invalid_volumes_of_a_run_are_rejected(
    server: Server, namespace: str, claims: list[dict[str, Any]], pod: dict[str, Any], problem: str
) -> None:
    answer = server.create("workflows", namespace, workflow(pod, volumeClaims=claims))
    assert answer.status == 422
    assert problem in answer.message
