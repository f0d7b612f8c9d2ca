"""The files of a task: which outputs an input is, and what a pod gets for them."""

import json
from typing import Any

import pytest
from torpor_crds.models.archive import ArchiveEndpoint
from torpor_crds.models.workflow import WorkflowSpec
from torpor_operator.graph import dag, file_references
from torpor_operator.graph.dag import GraphProblem
from torpor_operator.model.pod import pod_name
from torpor_wire.reason import Reason
from torpor_wire.state import TaskState

from tests.support.builders import Body, container
from tests.support.plan_fixture import PlanFixture

DIGEST = "0123456789abcdef" * 4
TABLE = {"name": "table", "size": 7, "digest": DIGEST, "kind": "file"}
ARCHIVE = ArchiveEndpoint("https://archive:8443", "PEM")


def shell(name: str, **fields: Any) -> Body:
    return {"name": name, "container": {"command": ["run", "it"]}, **fields}


def makes(name: str = "make", **fields: Any) -> Body:
    return shell(name, files={"out": [{"name": "table", "path": "/tmp/table.csv"}]}, **fields)


def reads(**entry: Any) -> Body:
    source = {"name": "data", "from": {"task": "make", "file": "table"}}
    return shell("read", files={"in": [source | entry]})


def made(*tasks: Body, **params: Any) -> PlanFixture:
    world = PlanFixture(*tasks, params=params)
    world.api.archive = ARCHIVE
    return world.settle()


def spec_of(*tasks: Body) -> WorkflowSpec:
    return WorkflowSpec.model_validate({"tasks": tasks})


def pod(world: PlanFixture, task: str, index: int = -1) -> Body:
    return world.pods[pod_name(world.run(task, index))]


def ended(world: PlanFixture, task: str, message: str, index: int = -1) -> PlanFixture:
    state = {"terminated": {"exitCode": 0, "reason": "Completed", "message": message}}
    return world.kubelet(task, {"phase": "Succeeded", "containerStatuses": [{"state": state}]}, index)


def store(world: PlanFixture, index: int = -1, *files: Body) -> PlanFixture:
    """End the producer with these files, by the document that its wrapper writes."""
    nonce = pod(world, "make", index)["metadata"]["annotations"]["torpor.dev/outcome-nonce"]
    document = {"torpor": 1, "nonce": nonce, "files": list(files), "message": "3"}
    return ended(world, "make", json.dumps(document), index)


def test_an_input_names_the_digest_of_the_output() -> None:
    world = store(made(makes(), reads()), -1, TABLE).settle()
    assert world.run("make").status.result == "3"
    files = world.run("read").spec.files
    assert files is not None
    (entry,) = files.in_
    (origin,) = entry.origins
    assert (origin.taskrun, origin.digest, origin.entry) == (world.run("make").metadata.uid, DIGEST, None)
    assert entry.path == "/files/in/data"


def test_a_source_is_an_object_or_a_text_that_names_an_output() -> None:
    world = store(made(makes(), reads(**{"from": "${ tasks.make.files.table }"})), -1, TABLE).settle()
    files = world.run("read").spec.files
    assert files is not None
    assert files.in_[0].origins[0].digest == DIGEST
    graph = dag.build(spec_of(makes(), reads(**{"from": "${tasks.make.files.x}"})))
    assert isinstance(graph, GraphProblem)
    assert "task make does not store a file x" in graph.message
    graph = dag.build(spec_of(makes(), reads(**{"from": "${tasks.make.result}"})))
    assert isinstance(graph, GraphProblem)
    assert "write ${tasks.NAME.files.OUTPUT}" in graph.message


def test_a_missing_output_fails_its_consumer_unless_it_is_optional() -> None:
    world = store(made(makes(), reads())).settle()
    assert world.task("read").reason == Reason.FILE_MISSING
    world = store(made(makes(), reads(optional=True))).settle()
    files = world.run("read").spec.files
    assert files is not None
    assert files.in_ == ()


def test_an_input_of_a_mapped_task_is_a_folder_of_its_outputs() -> None:
    world = made(makes(expand=[{"name": "n", "over": [1, 2]}]), reads())
    world = store(store(world, 0, TABLE), 1, TABLE).settle()
    files = world.run("read").spec.files
    assert files is not None
    assert [origin.entry for origin in files.in_[0].origins] == ["0", "1"]


def test_a_text_and_an_address_have_their_expressions_replaced() -> None:
    text = {"name": "text", "from": {"text": "day ${params.day}: $${X}"}}
    web = {"name": "web", "from": {"http": {"url": "https://example.org/${params.day}"}}, "path": "/data/x"}
    files = made(shell("a", files={"in": [text, web]}), day="monday").run("a").spec.files
    assert files is not None
    assert files.in_[0].text == "day monday: ${X}"
    assert files.in_[1].http is not None
    assert files.in_[1].http.url == "https://example.org/monday"


@pytest.mark.attack
@pytest.mark.parametrize("day", ["file:///etc/passwd", "ftp://x", "https://", "x", "http:// x"])
def test_an_address_of_a_value_is_one_of_a_web_server(day: str) -> None:
    web = {"name": "web", "from": {"http": {"url": "${params.day}"}}}
    world = made(shell("a", files={"in": [web]}), day=day)
    assert world.task("a").state is TaskState.FAILED


def test_objects_and_repositories_have_their_expressions_replaced() -> None:
    stored = {"name": "a", "from": {"object": {"url": "s3://${params.x}/a b"}}}
    source = {
        "name": "b",
        "from": {"git": {"url": "https://h/${params.x}", "ref": "${params.x}", "path": "${params.x}"}},
    }
    files = made(shell("a", files={"in": [stored, source]}), x="one").run("a").spec.files
    assert files is not None
    first, second = (entry.to_json() for entry in files.in_)
    assert first["object"] == {"url": "s3://one/a b"}
    assert second["git"] == {"url": "https://h/one", "ref": "one", "path": "one"}


@pytest.mark.attack
@pytest.mark.parametrize(
    "source",
    [
        {"object": {"url": "s3://${params.x}/key"}},
        {"git": {"url": "${params.x}"}},
        {"git": {"url": "https://h/x", "ref": "${params.x}"}},
    ],
)
@pytest.mark.parametrize("value", ["../x y", "a@b\x00", " ", "https://user:hush@host/x y", "x" * 3000])
def test_a_value_makes_a_source_nothing_but_an_address(source: Body, value: str) -> None:
    world = made(shell("a", files={"in": [{"name": "x", "from": source}]}), x=value)
    assert world.task("a").state is TaskState.FAILED


@pytest.mark.attack
def test_data_does_not_choose_the_server_that_gets_a_token() -> None:
    token = {"name": "git", "key": "token"}
    entry = {"name": "x", "from": {"git": {"url": "https://${tasks.make.result}/x", "token": token}}}
    graph = dag.build(spec_of(makes(), shell("read", files={"in": [entry]})))
    assert isinstance(graph, GraphProblem)
    assert "only params, variables" in graph.message
    entry["from"] = {"git": {"url": "https://h/${params.x}", "ref": "${tasks.make.result}", "token": token}}
    spec = {"params": {"x": "y"}, "tasks": [makes(), shell("read", files={"in": [entry]})]}
    assert not isinstance(dag.build(WorkflowSpec.model_validate(spec)), GraphProblem)


@pytest.mark.attack
def test_a_secret_of_a_source_is_in_the_init_container_alone() -> None:
    keys = {"accessKeyId": {"name": "s3", "key": "id"}, "secretAccessKey": {"name": "s3", "key": "secret"}}
    inputs = [
        {"name": "a", "from": {"object": {"url": "s3://bucket/a", **keys}}},
        {"name": "b", "from": {"object": {"url": "s3://bucket/b", **keys}}},
        {"name": "c", "from": {"git": {"url": "https://h/x", "token": {"name": "git", "key": "token"}}}},
    ]
    spec = pod(made(shell("a", files={"in": inputs})), "a")["spec"]
    (fetch,) = spec["initContainers"]
    secrets = {each["name"]: each["valueFrom"]["secretKeyRef"] for each in fetch["env"] if "secretKeyRef" in str(each)}
    assert secrets == {
        "TORPOR_FILE_SECRET_0": {"name": "s3", "key": "id"},
        "TORPOR_FILE_SECRET_1": {"name": "s3", "key": "secret"},
        "TORPOR_FILE_SECRET_2": {"name": "git", "key": "token"},
    }
    (text,) = (each["value"] for each in fetch["env"] if each["name"] == "TORPOR_FILES")
    first, second, third = json.loads(text)["in"]
    assert first["object"]["secretAccessKey"] == second["object"]["secretAccessKey"] == "TORPOR_FILE_SECRET_1"
    assert third["git"] == {"url": "https://h/x", "token": "TORPOR_FILE_SECRET_2"}
    assert "secretKeyRef" not in json.dumps(spec["containers"])
    assert "secret" not in json.dumps(spec["volumes"]).lower()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"from": {"task": "none", "file": "table"}}, "unknown task none; tasks: make, read"),
        ({"from": {"task": "make", "file": "x"}}, "task make does not store a file x; its files.out: table"),
        ({"from": {"task": "read", "file": "table"}}, "task read does not store a file table"),
        ({"path": "/torpor/lib"}, "is in /torpor, a folder of the system"),
        ({"path": "/dev"}, "is in /dev, a folder of the system"),
        ({"path": "/work/data"}, "files.in data: path: /work/data is also the path of the volume work: choose another"),
    ],
)
def test_an_input_that_no_pod_can_have_makes_the_run_invalid(entry: Body, said: str) -> None:
    volumes = {"volumes": [{"name": "work", "emptyDir": {}}]}
    mounted = volumes | {"volumeMounts": [{"name": "work", "mountPath": "/work/data/"}]}
    graph = dag.build(spec_of(makes(), reads(**entry) | {"pod": mounted}))
    assert isinstance(graph, GraphProblem)
    assert said in graph.message


def test_two_inputs_and_the_outputs_have_different_paths() -> None:
    task = reads(path="/files/out")
    task["files"]["out"] = [{"name": "made"}]
    graph = dag.build(spec_of(makes(), task))
    assert isinstance(graph, GraphProblem)
    assert "files.in data: path: /files/out is also the path of the outputs without a path" in graph.message
    task = reads()
    task["files"]["in"].append({"name": "more", "from": {"text": "x"}, "path": "/files/in/data"})
    graph = dag.build(spec_of(makes(), task))
    assert isinstance(graph, GraphProblem)
    assert "files.in more: path: /files/in/data is also the path of the input data" in graph.message


def test_files_order_the_tasks_and_can_form_a_cycle() -> None:
    spec = spec_of(makes(), reads())
    assert file_references.upstream(spec.tasks[1]) == {"make"}
    circle = makes(after=["read"])
    graph = dag.build(spec_of(circle, reads()))
    assert isinstance(graph, GraphProblem)
    assert "form a cycle" in graph.message


def test_the_init_container_has_only_the_token_for_the_archive() -> None:
    spec = pod(store(made(makes(), reads(path="/data/x")), -1, TABLE), "read")["spec"]
    (fetch,) = spec["initContainers"]
    variables = {variable["name"]: variable.get("value") for variable in fetch["env"]}
    assert variables["TORPOR_ARCHIVE_URL"] == ARCHIVE.url
    (entry,) = json.loads(variables["TORPOR_FILES"])["in"]
    assert (entry["target"], entry["origins"][0]["digest"]) == ("/files/in/data", DIGEST)
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    (source,) = volumes["torpor-files-credentials"]["projected"]["sources"]
    assert source["serviceAccountToken"]["audience"] == "torpor-archive"
    (main,) = spec["containers"]
    assert main["command"] == ["run", "it"]
    mounts = {mount["mountPath"]: mount for mount in main["volumeMounts"]}
    assert mounts["/data/x"]["subPath"] == "in/data"
    assert "/var/run/secrets/torpor.dev" not in mounts


def test_an_input_from_elsewhere_brings_no_token_for_the_archive() -> None:
    entry = {"name": "x", "from": {"http": {"url": "https://example.org/x"}}}
    spec = pod(made(shell("a", files={"in": [entry]})), "a")["spec"]
    assert "torpor-files-credentials" not in {volume["name"] for volume in spec["volumes"]}
    (fetch,) = spec["initContainers"]
    assert [mount["mountPath"] for mount in fetch["volumeMounts"]] == ["/files/in"]


@pytest.mark.parametrize(("inputs", "outputs", "size"), [(1, 0, "12Gi"), (0, 1, "12Gi"), (2, 1, "32Gi")])
def test_the_volume_of_files_has_room_for_each_of_them(inputs: int, outputs: int, size: str) -> None:
    files = {
        "in": [{"name": f"i{number}", "from": {"text": "x"}} for number in range(inputs)],
        "out": [{"name": f"o{number}"} for number in range(outputs)],
    }
    volumes = {volume["name"]: volume for volume in pod(made(shell("a", files=files)), "a")["spec"]["volumes"]}
    assert volumes["torpor-files"]["emptyDir"] == {"sizeLimit": size}


def test_a_program_with_outputs_has_a_wrapper_and_writes_no_documents() -> None:
    world = made(makes())
    (main,) = pod(world, "make")["spec"]["containers"]
    assert main["command"] == ["/torpor/torpor-tool", "run", "--", "run", "it"]
    variables = {variable["name"]: variable.get("value") for variable in main["env"]}
    assert json.loads(variables["TORPOR_FILES"])["outcome"] is False
    nonce = variables["TORPOR_OUTCOME_NONCE"]
    skipped = json.dumps({"torpor": 1, "nonce": nonce, "skip": {}})
    ended(world, "make", json.dumps({"torpor": 1, "nonce": nonce, "files": [], "message": skipped}))
    assert "skip" in (world.run("make").status.result or "")


def test_a_config_map_is_mounted_by_the_kubelet() -> None:
    entry = {"name": "c", "from": {"configMap": {"name": "settings", "key": "a.yaml"}}, "path": "/etc/a.yaml"}
    spec = pod(made(container("a", files={"in": [entry]})), "a")["spec"]
    assert "initContainers" not in spec
    assert {"name": "torpor-input-0", "configMap": {"name": "settings"}} in spec["volumes"]
    mount = {"name": "torpor-input-0", "mountPath": "/etc/a.yaml", "readOnly": True, "subPath": "a.yaml"}
    assert mount in spec["containers"][0]["volumeMounts"]


def test_a_failed_fetch_fails_the_attempt_with_its_message() -> None:
    world = store(made(makes(), reads()), -1, TABLE).settle()
    ended = {"name": "torpor-files", "state": {"terminated": {"exitCode": 69, "message": "the input data: no"}}}
    world.kubelet("read", {"phase": "Failed", "initContainerStatuses": [ended]}).settle()
    status = world.run("read").status
    assert status.reason == Reason.FILE_NOT_FETCHED
    assert "the input data: no" in (status.message or "")
