"""Expressions in pod fields: where they are evaluated, who may choose their values, and where they are refused."""

import pytest
from torpor_crds.models.pod_fields import PodFields, PodValue
from torpor_operator.expressions import pod_texts
from torpor_operator.expressions.pod_texts import PodText
from torpor_operator.model.actions import CreatePod
from torpor_operator.model.pod import pod_name

from tests.support.builders import Body, container, python
from tests.support.plan_fixture import PlanFixture

PARAMS = {"team": "data", "gpu": 2, "claim": "scratch-7", "disk": "ssd"}
FIELDS = {
    "labels": {"team": "${params.team}"},
    "annotations": {"note": "of ${params.team}, $${x}"},
    "nodeSelector": {"disk": "${params.disk}"},
    "resources": {"requests": {"memory": "${params.gpu * 2}Gi"}, "limits": {"example.org/gpu": "${params.gpu}"}},
    "volumes": [
        {"name": "data", "persistentVolumeClaim": {"claimName": "${params.claim}"}},
        {"name": "cache", "emptyDir": {"sizeLimit": "${params.gpu}Gi"}},
        {"name": "keys", "secret": {"secretName": "${params.team}-keys"}},
    ],
    "volumeMounts": [{"name": "data", "mountPath": "/data", "subPath": "run/${params.team}"}],
}


def pod(world: PlanFixture, task: str = "a", index: int = -1) -> Body:
    found: Body = world.pods[pod_name(world.run(task, index))]
    return found


@pytest.mark.parametrize("task", [python("a", pod=FIELDS), container("a", pod=FIELDS)])
def test_expressions_in_pod_fields_are_evaluated(task: Body) -> None:
    body = pod(PlanFixture(task, params=PARAMS).settle())
    main, spec, metadata = body["spec"]["containers"][0], body["spec"], body["metadata"]
    assert metadata["labels"]["team"] == "data"
    assert metadata["annotations"]["note"] == "of data, ${x}"
    assert spec["nodeSelector"] == {"disk": "ssd"}
    assert main["resources"]["requests"]["memory"] == "4Gi"
    assert main["resources"]["limits"]["example.org/gpu"] == "2"
    assert [volume for volume in spec["volumes"] if volume["name"] in {"data", "cache", "keys"}] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "scratch-7"}},
        {"name": "cache", "emptyDir": {"sizeLimit": "2Gi"}},
        {"name": "keys", "secret": {"secretName": "data-keys"}},
    ]
    assert {"name": "data", "mountPath": "/data", "subPath": "run/data"} in main["volumeMounts"]


def test_each_instance_has_its_own_values() -> None:
    fields = {"labels": {"city": "${mapping.value}"}, "nodeSelector": {"shard": "${mapping.index}"}}
    world = PlanFixture(python("a", pod=fields, expand=[{"name": "c", "over": ["bern", "rom"]}])).settle()
    assert [pod(world, index=index)["metadata"]["labels"]["city"] for index in (0, 1)] == ["bern", "rom"]
    assert pod(world, index=1)["spec"]["nodeSelector"] == {"shard": "1"}


def test_a_result_may_choose_labels_and_resources() -> None:
    fields = {"labels": {"size": "${tasks.list.result}"}, "resources": {"requests": {"cpu": "${tasks.list.result}"}}}
    world = PlanFixture(python("list"), python("a", pod=fields)).settle().succeed("list", "3")
    assert pod(world)["metadata"]["labels"]["size"] == "3"


@pytest.mark.attack
@pytest.mark.parametrize(
    "kind", [{"secret": {"secretName": "${tasks.list.result}"}}, {"configMap": {"name": "a-${run.event}"}}]
)
def test_data_chooses_no_object_of_a_volume(kind: Body) -> None:
    fields = {"volumes": [{"name": "v", **kind}]}
    world = PlanFixture(python("list"), python("a", pod=fields)).settle()
    assert world.status.state == "Failed"
    assert "only params, variables, and lists that the Workflow contains may choose it" in world.condition()[2]
    assert "pod.volumes[0]." in world.condition()[2]


@pytest.mark.attack
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[]", "pod.nodeSelector.disk: [] is not a text or a number"),
        ('{"a":1}', "is not a text or a number"),
        ("null", "null is not a text or a number"),
        (f'"{"x" * 300}"', "String should have at most 253 characters"),
    ],
)
def test_data_adds_no_structure_and_stays_within_the_limits(value: str, message: str) -> None:
    fields = {"nodeSelector": {"disk": "${tasks.list.result}"}}
    world = PlanFixture(python("list"), python("a", pod=fields)).settle().succeed("list", value)
    assert world.status.state == "Failed"
    assert message in world.condition()[2]


@pytest.mark.parametrize("value", ['"lots"', '"1 GB"', '"-1"', "-1"])
def test_a_value_that_is_no_quantity_is_named_before_the_pod(value: str) -> None:
    fields = {"sidecars": [{"name": "s", "image": "x", "resources": {"limits": {"memory": "${tasks.list.result}"}}}]}
    world = PlanFixture(python("list"), python("a", pod=fields)).settle().succeed("list", value)
    message = f"the value {value.strip(chr(34))!r} is not a quantity, such as 500m or 2Gi"
    assert f"pod.sidecars[0].resources.limits.memory: {message}" in world.condition()[2]


@pytest.mark.attack
def test_data_never_replaces_a_label_of_torpor() -> None:
    fields = {"labels": {"torpor.dev/taskrun-uid": "${params.team}"}}
    world = PlanFixture(python("a", pod=fields), params=PARAMS).settle()
    assert pod(world)["metadata"]["labels"]["torpor.dev/taskrun-uid"] == world.run("a").metadata.uid


@pytest.mark.parametrize(
    "fields",
    [
        {"tolerations": [{"key": "${params.team}", "operator": "Exists"}]},
        {"affinity": {"nodeAffinity": {"x": "${params.team}"}}},
        {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "${params.team}", "key": "k"}}}]},
        {"envFrom": [{"secretRef": {"name": "${params.team}"}}]},
        {"imagePullSecrets": [{"name": "${params.team}"}]},
        {"labels": {"${params.team}": "x"}},
        {"resources": {"limits": {"${params.team}": "1"}}},
    ],
)
def test_an_expression_elsewhere_is_refused_and_never_left_literal(fields: Body) -> None:
    world = PlanFixture(python("a", pod=fields), params=PARAMS).settle()
    assert world.status.state == "Failed"
    assert "${...} is not evaluated here: write a literal value" in world.condition()[2]


def test_an_expression_that_was_added_later_fails_the_launch() -> None:
    world = PlanFixture(python("a", pod={"labels": {"x": "1"}}), params=PARAMS)
    world.apply(world.plan())
    world.workflow["spec"]["tasks"][0]["pod"] = {"labels": {"x": "${params.team}"}}
    status = world.settle().run("a").status
    assert (status.state, status.reason) == ("Failed", "LaunchFailed")
    assert status.message == (
        "pod.labels.x has an expression that was added after this instance was created: clear the instance"
    )
    assert not world.pods


def test_a_pointer_names_one_field() -> None:
    fields = PodFields.model_validate({"labels": {"a/b~c": "${x}"}})
    (text,) = pod_texts.texts(fields)
    assert pod_texts.pointer(text.path) == "/labels/a~1b~0c"
    applied = pod_texts.applied(fields, [PodValue(path="/labels/a~1b~0c", value="v")])
    assert isinstance(applied, PodFields)
    assert applied.labels == {"a/b~c": "v"}
    assert pod_texts.missing(fields, [], [], written=[text]) == "pod.labels.a/b~c"
    assert pod_texts.missing(fields, [PodValue(path="/labels/a~1b~0c", value="v")], [], written=[text]) is None


def test_the_texts_of_a_pod_are_found_once_for_all_its_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [{"name": "x", "over": [*range(20)]}]
    world = PlanFixture(python("a", expand=many, pod={"labels": {"team": "${params.team}"}}), params=PARAMS).settle()
    world.api.pods = {}
    found: list[PodFields | None] = []
    texts = pod_texts.texts

    def counted(fields: PodFields | None) -> tuple[PodText, ...]:
        found.append(fields)
        return texts(fields)

    monkeypatch.setattr(pod_texts, "texts", counted)
    launches = [action for action in world.plan().actions if isinstance(action, CreatePod)]
    assert len(launches) == 20
    assert len(found) < 10


def test_the_texts_of_a_pod_are_read_once_for_all_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    task = python("a", pod=FIELDS, expand=[{"name": "n", "over": [*range(20)]}])
    world = PlanFixture(task, params=PARAMS)
    reads: list[PodFields | None] = []
    real = pod_texts.texts

    def counted(chosen: PodFields | None) -> tuple[PodText, ...]:
        reads.append(chosen)
        return real(chosen)

    monkeypatch.setattr(pod_texts, "texts", counted)
    world.plan()
    assert len(reads) == 4  # the plan is computed twice, and the graph and the task read them
