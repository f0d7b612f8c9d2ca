"""Files go from the pod of one task to that of the next, through the archive."""

import base64

import pytest
from torpor_kubernetes.client.resources import SECRETS
from torpor_wire.state import State

from tests.e2e.support import site
from tests.e2e.support.concurrent_runs import python
from tests.e2e.support.stage import ClusterFixture, Spec

MAKE = (
    "mkdir -p /tmp/out/sub && printf 'a,b\\n1,2\\n' > /tmp/table.csv && printf x > '/tmp/out/sub/ä b' "
    "&& ln -s sub/'ä b' /tmp/out/link && printf 3 > /dev/termination-log"
)
READ = (
    "cat /data/table.csv /data/tree/link > /tmp/seen && printf ' %s' \"$(cat /etc/torpor-note)\" >> /tmp/seen "
    "&& cat /tmp/seen > /dev/termination-log && test ! -e /var/run/secrets/torpor.dev"
)
OUTPUTS = [{"name": "table", "path": "/tmp/table.csv"}, {"name": "tree", "path": "/tmp/out", "compress": "gzip"}]
INPUTS = [
    {"name": "table", "from": {"task": "make", "file": "table"}, "path": "/data/table.csv"},
    {"name": "tree", "from": {"task": "make", "file": "tree"}, "path": "/data/tree"},
    {"name": "note", "from": {"text": "note of ${params.day}"}, "path": "/etc/torpor-note"},
]


def shell(name: str, script: str, **fields: object) -> Spec:
    return {"name": name, "container": {"command": ["sh", "-c", script]}, **fields}


async def test_files_of_a_container_are_inputs_of_the_next(stage: ClusterFixture) -> None:
    tasks = [shell("make", MAKE, files={"out": OUTPUTS}), shell("read", READ, files={"in": INPUTS})]
    await stage.start("files", {"image": "torpor-e2e:dev", "params": {"day": "monday"}, "tasks": tasks})
    flow = await stage.ended("files")
    assert flow.status.state == "Succeeded", [run.status.message for run in await stage.taskruns("files")]
    made, read = await stage.taskruns("files")
    assert made.status.result == "3"
    assert [(file.name, file.kind) for file in made.status.files] == [("table", "file"), ("tree", "folder+gzip")]
    assert read.status.result == '"a,b\\n1,2\\nx note of monday"'
    assert read.spec.files is not None
    origins = {entry.name: entry.origins[0].digest for entry in read.spec.files.in_ if entry.origins}
    assert origins == {file.name: file.digest for file in made.status.files}
    assert {origin.taskrun for entry in read.spec.files.in_ for origin in entry.origins} == {made.metadata.uid}


async def test_an_output_that_was_not_written_fails_its_task(stage: ClusterFixture) -> None:
    missing = [{"name": "table", "path": "/tmp/missing"}]
    tasks = [shell("make", "true", files={"out": missing}), shell("read", READ, files={"in": INPUTS[:1]})]
    await stage.start("files", {"image": "torpor-e2e:dev", "tasks": tasks})
    await stage.ended("files")
    (made,) = await stage.taskruns("files")
    assert made.status.state is State.FAILED
    assert "did not write the output table" in (made.status.message or "")


@pytest.mark.parametrize("runtime", ["Inject", "Image"])
async def test_files_of_a_python_task_are_inputs_of_the_next(stage: ClusterFixture, runtime: str) -> None:
    tree = {"name": "tree", "from": {"task": "make", "file": "tree"}, "path": "/data/tree"}
    tasks = [
        python("make", "write_tree", files={"out": [{"name": "tree"}]}),
        python("read", "read_tree", files={"in": [tree]}),
    ]
    await stage.start("files", {"image": "torpor-e2e:dev", "runtime": runtime, "tasks": tasks})
    flow = await stage.ended("files")
    assert flow.status.state == "Succeeded", [run.status.message for run in await stage.taskruns("files")]
    made, read = await stage.taskruns("files")
    assert [(file.name, file.kind) for file in made.status.files] == [("tree", "folder")]
    assert read.status.result == '"leaf"'


@pytest.mark.attack
async def test_a_web_server_in_the_control_plane_is_no_source_of_a_file(stage: ClusterFixture) -> None:
    source = {"http": {"url": "https://kubernetes.default.svc/healthz"}}
    task = shell("read", "true", files={"in": [{"name": "x", "from": source}]})
    await stage.start("files", {"image": "torpor-e2e:dev", "tasks": [task]})
    await stage.ended("files")
    (run,) = await stage.taskruns("files")
    assert (run.status.state, run.status.reason) == (State.FAILED, "FileNotFetched")
    assert "may not be at" in (run.status.message or "")


STORE = "mkdir -p /tmp/s/lake/day && printf row > /tmp/s/lake/day/a && python -m http.server 8000 -d /tmp/s"
KEYS = {"accessKeyId": {"name": "keys", "key": "id"}, "secretAccessKey": {"name": "keys", "key": "secret"}}


async def secret(stage: ClusterFixture, **values: str) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": values}
    await stage.api.create(SECRETS, stage.namespace, body)


async def test_an_object_is_an_input_and_its_keys_stay_in_the_init_container(stage: ClusterFixture) -> None:
    address = await site.served(stage, ["sh", "-c", STORE])
    await secret(stage, id="me", secret="hush")
    source = {"url": "s3://lake/${params.day}/a", "endpoint": f"http://{address}:8000", **KEYS}
    script = "env | grep -c -e hush -e TORPOR_FILE || cat /files/in/x > /dev/termination-log"
    task = shell("read", script, files={"in": [{"name": "x", "from": {"object": source}}]})
    await stage.start("files", {"image": "torpor-e2e:dev", "params": {"day": "day"}, "tasks": [task]})
    flow = await stage.ended("files")
    (run,) = await stage.taskruns("files")
    assert flow.status.state == "Succeeded", run.status.message
    assert run.status.result == '"row"'


async def test_the_token_of_a_repository_reaches_its_server(stage: ClusterFixture) -> None:
    pair = base64.b64encode(b"git:hush").decode()
    address = await site.started(stage, f"Basic {pair}")
    await secret(stage, token="hush", other="wrong")
    inputs = {
        key: {"name": "x", "from": {"git": {"url": f"http://{address}:8000/x", "token": {"name": "keys", "key": key}}}}
        for key in ("token", "other")
    }
    tasks = [shell(key, "true", files={"in": [entry]}, mayFail=True) for key, entry in inputs.items()]
    await stage.start("files", {"image": "torpor-e2e:dev", "tasks": tasks})
    await stage.ended("files")
    said = {run.spec.task: run.status.message or "" for run in await stage.taskruns("files")}
    assert "is not a Git repository" in said["token"]
    assert "check the address, and the token" in said["other"]
    assert "hush" not in str(said)
