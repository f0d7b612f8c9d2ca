"""Files of tasks in a local run: they go through the archive of its folder."""

from pathlib import Path
from typing import Any

import pytest
from torpor_local import engine
from torpor_local.pods import task_files
from torpor_local.pods.container_outputs import EndedContainer
from torpor_local.pods.files import PodFiles
from torpor_local.pods.task_files import FileError
from torpor_local.pods.wrapper import WrappedProgram
from torpor_operator.model.pod import FILES_CONTAINER
from torpor_wire import constants

from tests.support.manifests import manifest
from tests.unit.local.local_runs import Changes, options, play, workflow

OUT = [{"name": "table", "path": "/tmp/table.csv"}, {"name": "tree", "compress": "gzip"}]
COPY = """#!/bin/sh
case "$2" in *:/link) ln -s /etc/passwd "$3";; *:/file) printf x > "$3";; *) exit 1;; esac
"""


def make(**output: Any) -> dict[str, Any]:
    return {"name": "make", "python": "local_tasks:write_files", "files": {"out": [*OUT, *filter(None, [output])]}}


def read() -> dict[str, Any]:
    inputs = [
        {"name": "table", "from": {"task": "make", "file": "table"}, "path": "/data/table"},
        {"name": "tree", "from": {"task": "make", "file": "tree"}},
        {"name": "note", "from": {"text": "a note"}},
        {"name": "settings", "from": {"configMap": {"name": "settings", "key": "a.txt"}}},
    ]
    return {"name": "read", "python": "local_tasks:read_files", "files": {"in": inputs}}


async def test_files_go_from_one_task_to_the_next(tmp_path: Path) -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a.txt": "set"}}
    run = workflow(make(), read())
    outcome = await engine.play([settings, run], options(tmp_path), Changes())
    assert outcome.results["read"] == ["rows", "leaf", "a note", "set"]
    made = next(run for run in outcome.objects["TaskRun"] if run["spec"]["task"] == "make")
    assert [(file["name"], file["kind"]) for file in made["status"]["files"]] == [
        ("table", "file"),
        ("tree", "folder+gzip"),
    ]


async def test_a_missing_output_fails_its_task(tmp_path: Path) -> None:
    outcome = await play(tmp_path, make(name="none"))
    (run,) = outcome.objects["TaskRun"]
    assert run["status"]["state"] == "Failed"
    assert "did not write none" in run["status"]["message"]


def pod(*paths: str) -> dict[str, Any]:
    out = [{"name": path.strip("/"), "path": path} for path in paths]
    env = [{"name": constants.ENV_FILES, "value": f'{{"out": {out}}}'.replace("'", '"')}]
    body = manifest("TaskRun", "one", {"containers": [{"name": "main", "env": env}]})
    owner = {"name": "one", "controller": True}
    return body | {"metadata": body["metadata"] | {"uid": "u", "namespace": "default", "ownerReferences": [owner]}}


@pytest.mark.attack
@pytest.mark.parametrize(("path", "said"), [("/link", "is a link"), ("/none", "did not write")])
async def test_a_link_in_place_of_an_output_is_not_followed(tmp_path: Path, path: str, said: str) -> None:
    tool = tmp_path / "tool"
    tool.write_text(COPY)
    tool.chmod(0o755)
    files = task_files.of_pod(pod(path), tmp_path / "files")
    (files.folder / "out").mkdir(parents=True)
    wrapped = WrappedProgram(command=(), stores_files=True)
    ended = EndedContainer(
        pod=pod(path),
        wrapped=wrapped,
        files=PodFiles.of_pod("a", "u", logs=tmp_path, scratch=tmp_path),
        task=files,
        tool=str(tool),
        archive=tmp_path / "none",
    )
    code, message = await ended.report("")
    assert code == 66
    assert said in message


def test_an_input_that_cannot_be_fetched_says_which(tmp_path: Path) -> None:
    origin = {"taskrun": "u", "name": "x", "digest": "0" * 64, "size": 1, "kind": "file"}
    spec = f'{{"in": [{{"name": "x", "origins": [{origin}]}}]}}'.replace("'", '"')
    body = pod()
    body["spec"]["initContainers"] = [
        {"name": FILES_CONTAINER, "env": [{"name": constants.ENV_FILES, "value": spec}]},
    ]
    body["spec"]["containers"][0]["volumeMounts"] = [
        {"name": "torpor-files", "mountPath": "/data/x", "subPath": "in/x"}
    ]
    files = task_files.of_pod(body, tmp_path / "files")
    with pytest.raises(FileError, match="an input cannot be fetched"):
        task_files.fetch(files, body, tmp_path / "no-archive", lambda _: None, {})
