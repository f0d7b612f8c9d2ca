"""What a local run refuses and ignores."""

from typing import Any

import pytest
from torpor_cli.local_run import preflight
from torpor_cli.local_run.preflight import MachineCapabilities, Preflight
from torpor_cli.local_run.workflow_file import WorkflowFile
from torpor_local.options import GivenAnswer


def check(*tasks: dict[str, Any], machine: MachineCapabilities | None = None, **spec: Any) -> Preflight:
    named = [{"name": f"t{place}", **task} for place, task in enumerate(tasks)]
    return preflight.check({**spec, "tasks": named}, [], machine or MachineCapabilities())


def test_a_workflow_that_needs_no_cluster_has_nothing_to_name() -> None:
    wait = {"trigger": {"class": "duration", "kwargs": {"duration": "5s"}}}
    assert check(wait, {"python": "m:f", "pod": {"env": [{"name": "A", "value": "1"}]}}) == Preflight()


@pytest.mark.parametrize("class_name", ["kubernetes", "taskrun", "workflow"])
def test_a_trigger_that_needs_a_cluster_is_refused_unless_it_is_answered(class_name: str) -> None:
    task = {"trigger": {"class": class_name, "kwargs": {}}}
    (sentence,) = check(task).refused
    assert sentence.startswith("task t0 waits for ")
    assert sentence.endswith("; answer it with --event t0='{...}'")
    assert check(task, machine=MachineCapabilities(events=("t0",))).refused == ()


def test_an_approval_is_refused_unless_it_has_an_answer() -> None:
    task = {"trigger": {"class": "approval", "kwargs": {}}}
    words = "task t0 waits for an approval; answer it with --answer t0=approved, or rejected"
    assert check(task).refused == (words,)
    assert check(task, machine=MachineCapabilities(events=("t0",))).refused == ()
    assert check(task, machine=MachineCapabilities(answers={"t1": GivenAnswer()})).refused == (words,)
    for name in ("t0", "t0/3"):
        assert check(task, machine=MachineCapabilities(answers={name: GivenAnswer()})).refused == ()


def test_an_answer_that_does_not_fit_its_form_is_refused() -> None:
    kwargs = {"fields": [{"name": "count", "type": "integer"}], "options": ["a", "b"]}
    task = {"trigger": {"class": "approval", "kwargs": kwargs}}

    def refused(answer: GivenAnswer) -> tuple[str, ...]:
        return check(task, machine=MachineCapabilities(answers={"t0": answer})).refused

    assert refused(GivenAnswer()) == ("--answer t0: count is missing",)
    assert refused(GivenAnswer(fields={"count": "x"}, options=("a",))) == (
        "--answer t0: count must be of type integer",
    )
    assert refused(GivenAnswer(fields={"count": 1})) == ("--answer t0: choose one of the options a, b",)
    assert refused(GivenAnswer(fields={"count": 1}, options=("b",))) == refused(GivenAnswer(approved=False)) == ()
    kwargs["options"] = ["${params.where}"]
    assert refused(GivenAnswer()) == ()


_OBJECT = {"object": {"manifest": {"apiVersion": "batch/v1", "kind": "Job"}}}


def test_a_task_with_an_object_is_refused_unless_it_has_an_event() -> None:
    assert check(_OBJECT).refused == (
        "task t0 acts on an object of a cluster, and a local run has none; give its result with --event t0=JSON",
    )
    assert check(_OBJECT, machine=MachineCapabilities(events=("t0",))).refused == ()


def _template(name: str, *tasks: dict[str, Any], **spec: Any) -> dict[str, Any]:
    workflow = {**spec, "tasks": [{"name": f"t{place}", **task} for place, task in enumerate(tasks)]}
    return {"kind": "WorkflowTemplate", "metadata": {"name": name}, "spec": {"workflow": workflow}}


def test_an_object_in_a_run_of_a_run_is_refused_before_the_start() -> None:
    starts = {name: {"run": {"templateRef": {"name": name}}} for name in ("outer", "inner", "missing")}
    templates = [
        _template("outer", starts["inner"], starts["outer"], starts["missing"]),
        _template("inner", {"use": "submit"}, bodies={"submit": _OBJECT}),
        _template("other", _OBJECT),
    ]
    spec = {"tasks": [{"name": "t0", **starts["outer"]}]}
    assert preflight.check(spec, templates, MachineCapabilities()).refused == (
        (
            "task t0 of WorkflowTemplate inner acts on an object of a cluster, and a local run has none; "
            "run the Workflow in a cluster"
        ),
    )


def test_a_trigger_inside_another_is_refused() -> None:
    task = {"trigger": {"class": "any_of", "kwargs": {"triggers": [{"class": "approval", "kwargs": {}}]}}}
    assert check(task).refused == (
        (
            "task t0 waits for an approval within another trigger, which a user gives in a cluster; "
            "answer it with --event t0='{...}'"
        ),
    )


def test_a_trigger_class_that_is_not_registered_is_refused() -> None:
    task = {"trigger": {"class": "tide", "kwargs": {}}}
    machine = MachineCapabilities(triggers=("duration",))
    (sentence,) = check(task, machine=machine).refused
    assert sentence.startswith("task t0: no built-in trigger class is called tide; name yours with --trigger tide=")
    assert sentence.endswith("or answer it with --event t0='{...}'")
    assert check(task, machine=MachineCapabilities(triggers=("tide",))).refused == ()
    assert check(task, machine=MachineCapabilities(triggers=("duration",), events=("t0",))).refused == ()


def test_a_trigger_with_a_secret_is_refused_once() -> None:
    reference = {"secretRef": {"name": "jobs", "key": "token"}}
    http = {"class": "http", "kwargs": {"url": reference, "headers": {"Authorization": reference}}}
    expected = (
        "task t0 reads a Secret or a ConfigMap, and a local run has neither; answer it with --event t0='{...}'",
    )
    assert check({"trigger": http}).refused == expected
    assert check({"trigger": {"class": "all_of", "kwargs": {"triggers": [http]}}}).refused == expected
    assert check({"trigger": http}, machine=MachineCapabilities(events=("t0",))).refused == ()


def test_a_container_needs_docker_or_podman() -> None:
    task = {"container": {"command": ["true"]}, "image": "busybox"}
    assert check(task).refused == ("task t0 is a container, which needs docker or podman; neither is installed",)
    assert check(task, machine=MachineCapabilities(containers=True)) == Preflight()


def test_steps_of_a_container_are_refused() -> None:
    task = {"container": {"steps": [{"name": "one", "command": ["x"]}]}}
    assert check(task, machine=MachineCapabilities(containers=True)).refused == (
        "task t0 has container.steps, and a local run starts one container; run the Workflow in a cluster",
    )


@pytest.mark.parametrize("field", ["initContainers", "sidecars"])
def test_other_containers_of_a_pod_are_refused(field: str) -> None:
    task = {"python": "m:f", "pod": {field: [{"name": "db", "image": "db:1"}]}}
    assert check(task).refused == (
        f"task t0 has pod.{field}, and a local run starts one container; run the Workflow in a cluster",
    )


@pytest.mark.attack
def test_an_image_that_docker_would_take_for_an_option_is_refused() -> None:
    task, machine = {"container": {}, "image": "--volume=/:/host"}, MachineCapabilities(containers=True)
    sentence = "task t0: '--volume=/:/host' is not an image: write [registry/]name[:tag][@digest]"
    assert check(task, machine=machine).refused == (sentence,)
    assert check({"container": {}}, machine=machine, image="--volume=/:/host").refused == (sentence,)


def test_variables_are_a_config_map_of_the_file() -> None:
    spec = {"variablesFrom": "team", "tasks": []}
    (sentence,) = preflight.check(spec, [], MachineCapabilities()).refused
    assert sentence == "variablesFrom names ConfigMap team, which the file does not have; add it as a document"
    config = {"kind": "ConfigMap", "metadata": {"name": "team"}}
    assert preflight.check(spec, [config], MachineCapabilities()).refused == ()


def test_each_ignored_field_is_named_once_with_its_tasks() -> None:
    heavy = {"python": "m:f", "pool": "db", "pod": {"resources": {"requests": {"memory": "1Gi"}}}}
    source = {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    other = {"python": "m:f", "pod": {"serviceAccountName": "x", "serviceAccountToken": True, "env": [source]}}
    preflight_result = check(
        heavy, heavy, other, machine=MachineCapabilities(variables=("A",)), image="i", ttlAfterFinished="1d"
    )
    assert preflight_result.refused == ()
    assert preflight_result.ignored == (
        "image of Python tasks",
        "ttlAfterFinished",
        "pool (t0, t1)",
        "pod.resources (t0, t1)",
        "pod.serviceAccountName (t2)",
        "pod.serviceAccountToken (t2)",
        "Secret s of pod.env (t2)",
    )


def test_a_variable_without_a_value_is_refused() -> None:
    secret = {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}
    other = {"name": "TEAM", "valueFrom": {"configMapKeyRef": {"name": "team", "key": "name"}}}
    task = {"python": "m:f", "pod": {"env": [secret, other]}}
    assert check(task).refused == (
        (
            "task t0 needs the variable PASSWORD from Secret db, and a local run has no Secrets; "
            "set PASSWORD in your environment"
        ),
        (
            "task t0 needs the variable TEAM from ConfigMap team, which the file does not have; "
            "add it as a document, or set TEAM in your environment"
        ),
    )
    assert check(task, machine=MachineCapabilities(variables=("PASSWORD", "TEAM"))).refused == ()
    secret["valueFrom"] = {"secretKeyRef": {"name": "db", "key": "password", "optional": True}}
    assert check({"python": "m:f", "pod": {"env": [secret]}}).refused == ()


@pytest.mark.parametrize("name", ["KUBECONFIG", "KUBERNETES_SERVICE_HOST", "TORPOR_API"])
def test_a_variable_that_tasks_do_not_get_from_the_environment_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "x")
    monkeypatch.setenv("PASSWORD", "x")
    secrets = [{"name": each, "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}} for each in (name, "PASSWORD")]
    spec = {"tasks": [{"name": "t0", "python": "m:f", "pod": {"env": secrets}}]}
    file = WorkflowFile(name="run.yaml", workflow={"kind": "Workflow", "spec": spec})
    assert preflight.of_file(file, ()).refused == (
        (
            f"task t0 needs the variable {name} from Secret s, and a local run has no Secrets; "
            f"give the variable another name, as tasks do not get {name} of your environment"
        ),
    )


def test_a_key_that_its_config_map_lacks_is_refused() -> None:
    variable = {"name": "TEAM", "valueFrom": {"configMapKeyRef": {"name": "team", "key": "name"}}}
    spec = {"tasks": [{"name": "t0", "python": "m:f", "pod": {"env": [variable]}}]}
    config = {"kind": "ConfigMap", "metadata": {"name": "team"}, "data": {"other": "x"}}
    assert preflight.check(spec, [config], MachineCapabilities()).refused == (
        (
            "task t0 needs the variable TEAM from key name of ConfigMap team, which the file does not have; "
            "add the key, or set TEAM in your environment"
        ),
    )
    assert preflight.check(spec, [config], MachineCapabilities(variables=("TEAM",))).refused == ()
    assert preflight.check(spec, [{**config, "data": {"name": "x"}}], MachineCapabilities()).refused == ()


def test_config_maps_that_the_file_has_are_not_ignored() -> None:
    variables = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "team", "key": "k"}}}]
    task = {"name": "t", "python": "m:f", "pod": {"env": variables, "envFrom": [{"configMapRef": {"name": "team"}}]}}
    ignored = preflight.check({"tasks": [task]}, [], MachineCapabilities()).ignored
    assert ignored == ("ConfigMap team of pod.env (t)", "ConfigMap team of pod.envFrom (t)")
    config = {"kind": "ConfigMap", "metadata": {"name": "team"}}
    assert preflight.check({"tasks": [task]}, [config], MachineCapabilities()).ignored == ()


def test_objects_that_a_run_cannot_use_are_named() -> None:
    schedule = {"kind": "Schedule", "metadata": {"name": "nightly"}}
    assert preflight.check({"tasks": []}, [schedule], MachineCapabilities()).ignored == ("Schedule nightly",)


def test_fields_that_would_stop_a_local_run_are_removed() -> None:
    task = {"name": "a", "python": "m:f", "pool": "db", "triggerPool": "x", "pod": {"resources": {}}}
    spec = {"image": "i", "ttlAfterFinished": "1d", "timeout": "1h", "tasks": [task]}
    local_task = {name: value for name, value in task.items() if name != "pool"}
    local = {"image": "i", "timeout": "1h", "tasks": [local_task]}
    template = {"kind": "WorkflowTemplate", "spec": {"params": [], "workflow": spec}}
    played = preflight.documents({"kind": "Workflow", "spec": spec}, [template, {"kind": "Secret"}])
    assert played == [
        {"kind": "WorkflowTemplate", "spec": {"params": [], "workflow": local}},
        {"kind": "Workflow", "spec": local},
    ]
    reference = {"kind": "Workflow", "spec": {"templateRef": {"name": "x"}}}
    assert preflight.documents(reference, []) == [reference]


def test_the_slots_of_the_file_hold() -> None:
    config = {"kind": "ConfigMap", "metadata": {"name": "torpor-pools"}, "data": {"db": "1"}}
    body = {"kind": "Workflow", "spec": {"tasks": [{"name": "a", "python": "m:f", "pool": "db"}]}}
    assert preflight.documents(body, [config]) == [config, body]
    assert preflight.check(body["spec"], [config], MachineCapabilities()).ignored == ()  # type: ignore[arg-type]


def test_a_source_without_a_config_map_is_refused_once() -> None:
    source = {"configMap": "steps"}
    (sentence,) = check({"python": "m:f", "source": source}, {"python": "m:g"}, source=source).refused
    assert sentence == (
        "source names ConfigMap steps: add it to the file, or put its files into a folder steps beside it"
    )
    preflight_result = preflight.check(
        {"source": source}, [{"kind": "ConfigMap", "metadata": {"name": "steps"}}], MachineCapabilities()
    )
    assert preflight_result.refused == ()


def test_a_container_with_tools_is_refused() -> None:
    task = {"container": {"command": ["sh"], "tools": True}, "image": "busybox"}
    assert check(task, machine=MachineCapabilities(containers=True)).refused == (
        "task t0 has container.tools, and a local run has no torpor-tool; run the Workflow in a cluster",
    )


def test_an_image_of_containers_only_is_not_ignored() -> None:
    spec = {"image": "busybox:1.37", "tasks": [{"name": "t", "container": {"command": ["true"]}}]}
    assert preflight.check(spec, [], MachineCapabilities(containers=True)).ignored == ()
