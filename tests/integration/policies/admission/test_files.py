"""The API server rejects files that no pod could have."""

from typing import Any

import pytest

from tests.integration.conftest import Server

TEXT = {"text": "x"}
KEY = {"name": "store", "key": "k"}
S3_KEYS = {"accessKeyId": KEY, "secretAccessKey": KEY}
OUT = [{"name": "x", "path": "/tmp/x"}]


def workflow(**task: Any) -> dict[str, Any]:
    body = {} if "python" in task or "trigger" in task else {"container": {"command": ["true"]}}
    return {
        "apiVersion": "torpor.dev/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "run"},
        "spec": {"image": "x", "tasks": [{"name": "a", **body, **task}]},
    }


def from_object(**fields: Any) -> dict[str, Any]:
    return {"files": inputs({"from": {"object": {"url": "s3://bucket/key"} | fields}})}


def from_git(**fields: Any) -> dict[str, Any]:
    return {"files": inputs({"from": {"git": {"url": "https://example.org/x"} | fields}})}


def inputs(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"in": [{"name": f"x{number}", "from": TEXT} | entry for number, entry in enumerate(entries)]}


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({"files": inputs({"from": {}})}, "exactly one of task, text, configMap, http, object and git"),
        ({"files": inputs({"from": {"text": "x", "configMap": {"name": "c"}}})}, "exactly one of task, text"),
        ({"files": inputs({"from": {"task": "b"}})}, "from.task and from.file belong together"),
        ({"files": inputs({"from": {"text": "x", "file": "y"}})}, "from.task and from.file belong together"),
        ({"files": inputs({"from": {"git": {"url": "https://x"}, "text": "x"}})}, "exactly one of task, text"),
        ({"files": inputs({"from": "${tasks.b.result}"})}, "should match"),
        ({"files": inputs({"from": "x ${tasks.b.files.y}"})}, "should match"),
        ({"files": inputs({"from": "${tasks.b.files." + "x" * 200 + "}"})}, "Too long"),
        ({"files": inputs({"from": 7})}, "an object with one source, or a text"),
        ({"files": inputs({"from": ["a"]})}, "an object with one source, or a text"),
        ({"files": inputs({"from": {"http": "https://x"}})}, "must be of type object"),
        (from_object(url="ftp://bucket/key"), "should match"),
        (from_object(url="${params.x}"), "should match"),
        (from_object(endpoint="http://${params.x}/"), "should match"),
        (from_object(endpoint="https://user@host"), "should match"),
        (from_object(region="eu/../x"), "should match"),
        (from_object(accessKeyId=KEY), "accessKeyId and secretAccessKey belong together"),
        (from_object(sessionToken=KEY), "accessKeyId and secretAccessKey belong together"),
        (from_object(accessKeyId={"name": "${params.x}", "key": "k"}), "should match"),
        (from_object(serviceAccountKey=KEY), "serviceAccountKey is for gs://"),
        (from_object(url="gs://bucket/key", region="x"), "are for s3://"),
        (from_object(url="az://box/key"), "az:// needs accountName"),
        (from_object(accountName="torpor"), "az:// needs accountName"),
        (from_object(url="az://box/key", accountName="${x}"), "should match"),
        (
            from_object(url="az://box/key", accountName="torpor", accountKey=KEY, sasToken=KEY),
            "accountKey and sasToken are two credentials",
        ),
        (from_object(url="s3://bucket/day/", sha256="0" * 64), "sha256 is for one object"),
        (from_git(url="ssh://git@example.org/x"), "from.git.url is https://HOST/PATH"),
        (from_git(url="https://user:hush@example.org/x"), "from.git.url is https://HOST/PATH"),
        (from_git(username="x"), "username is for a token"),
        (from_git(token="hush"), "Invalid value"),
        ({"files": {"out": OUT}, "container": {"args": ["x"]}}, "files.out needs container.command or script"),
        (
            {"files": {"out": OUT}, "container": {"steps": [{"name": "a", "command": ["x"]}, {"name": "b"}]}},
            "files.out needs container.command or script",
        ),
        ({"files": {"out": OUT}, "trigger": {"class": "time"}}, "files are for tasks with a pod"),
        ({"files": {"out": [*OUT, *OUT]}}, "Duplicate value"),
        ({"files": {"out": [{"name": "x", "path": "/tmp/x", "compress": "zip"}]}}, "Unsupported value"),
    ],
)
def test_such_files_are_rejected(server: Server, namespace: str, task: dict[str, Any], said: str) -> None:
    answer = server.create("workflows", namespace, workflow(**task))
    assert answer.status == 422, answer.message
    assert said in answer.message


def test_the_last_of_several_steps_stores_the_outputs(server: Server, namespace: str) -> None:
    steps = [{"name": "one"}, {"name": "two", "command": ["run"]}]
    body = workflow(files={"out": OUT}, container={"steps": steps})
    server.create("workflows", namespace, body).expect(201)


@pytest.mark.attack
@pytest.mark.parametrize(
    "path",
    ["/", "relative", "/a/../etc", "/..", "/a/./b", "/a//b", "/a/", "/a:b", "/a\nb", "/.", "/a/..", "/a\x01b"],
)
def test_a_path_of_files_is_absolute_and_in_its_shortest_form(server: Server, namespace: str, path: str) -> None:
    for files in (inputs({"path": path}), {"out": [{"name": "x", "path": path}]}):
        answer = server.create("workflows", namespace, workflow(files=files))
        assert answer.status == 422, (path, answer.message)


def test_valid_files_are_accepted(server: Server, namespace: str) -> None:
    entries = (
        {"path": "/data/a b/ü"},
        {"path": "/.x/..y/..."},
        {"from": {"configMap": {"name": "c", "key": "k.txt"}}},
        {"from": {"object": {"url": "s3://${params.b}/k", "endpoint": "http://minio.x:9000", **S3_KEYS}}},
        {"from": {"object": {"url": "gs://bucket/a b/", "serviceAccountKey": KEY}}},
        {"from": {"object": {"url": "az://$web/x", "accountName": "torpor", "sasToken": KEY}}},
        {"from": {"git": {"url": "https://example.org/${params.x}", "ref": "main", "path": "a/b", "token": KEY}}},
        {"from": {"git": {"url": "${params.x}"}}},
        {"from": "${tasks.b.files.y}"},
    )
    server.create("workflows", namespace, workflow(files=inputs(*entries) | {"out": OUT})).expect(201)


@pytest.mark.parametrize(
    "source", [TEXT, "${tasks.b.files.y}", {"object": {"url": "s3://b/k", **S3_KEYS}}, {"git": {"url": "https://x/y"}}]
)
def test_the_check_stays_within_its_cost_for_the_most_files(server: Server, namespace: str, source: object) -> None:
    files = {
        "in": [{"name": f"in{n}", "from": source, "path": f"/data/{'x' * 60}{n}"} for n in range(16)],
        "out": [{"name": f"out{n}", "path": f"/tmp/{'x' * 60}{n}"} for n in range(16)],
    }
    body = workflow(files=files)
    (task,) = body["spec"]["tasks"]
    body["spec"]["tasks"] = [task | {"name": f"t{n}"} for n in range(300)]
    server.create("workflows", namespace, body).expect(201)
