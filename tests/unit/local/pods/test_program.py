"""Which process a pod becomes: variables, source, docker or podman."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from torpor_local import engine
from torpor_local.pods import program, variables

from tests.unit.local.local_runs import Changes, killed_when, options, play, workflow

DOCKER = """#!/bin/sh
echo "the client uses ${DOCKER_HOST:-the default}"
while [ $# -gt 0 ]; do
  case "$1" in
    --mount) log="${2#*source=}"; log="${log%,target=*}"; shift;;
    --env) echo "$1 $2"; export "$2"; shift;;
    --name|--entrypoint|--user) echo "$1 $2"; shift;;
    *) echo "word $1";;
  esac
  shift
done
echo "day is $day"
ls -ld "$log" "${log%/*}" | cut -c 1-10
printf '{"rows": 3}' > "$log"
"""

ENDLESS = """#!/bin/sh
echo "$*" >> "$calls"
[ "$1" = run ] || exit 0
grep -q '^rm' "$calls" && exit 0
trap "" TERM
while true; do sleep 0.05; done
"""


def pod(**container: Any) -> dict[str, Any]:
    metadata = {"name": "run-a1-s0", "namespace": "default", "uid": "1234567890abcdef", "labels": {"a": "b"}}
    return {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": "any:1", **container}]}}


def test_references_to_variables_are_expanded_as_in_kubernetes() -> None:
    known = {"NAME": "value"}
    assert variables.expanded("$(NAME) $$(NAME) $(OTHER) $NAME $$", known) == "value $(NAME) $(OTHER) $NAME $"


def test_a_variable_may_come_from_a_config_map_or_a_field() -> None:
    environment = variables.environment(
        pod(
            envFrom=[{"configMapRef": {"name": "all"}, "prefix": "P_"}, {"secretRef": {"name": "s"}}],
            env=[
                {"name": "ONE", "valueFrom": {"configMapKeyRef": {"name": "all", "key": "x"}}},
                {"name": "UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
                {"name": "LABEL", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}},
                {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "x"}}},
                {"name": "TWO", "value": "$(ONE)2"},
            ],
        ),
        {"all": {"data": {"x": "1"}}}.get,
    )
    assert environment == {"P_x": "1", "ONE": "1", "UID": "1234567890abcdef", "LABEL": "b", "TWO": "12"}


def test_variables_that_lead_to_a_cluster_are_not_inherited() -> None:
    environ = {"KUBECONFIG": "x", "KUBERNETES_SERVICE_HOST": "x", "TORPOR_API": "x", "HOME": "/home/me"}
    assert variables.inherited(environ) == {"HOME": "/home/me"}


def test_a_container_gets_its_command_arguments_and_variables() -> None:
    pod_program = program.container(
        pod(command=["sh", "-c"], args=["echo $(day)"], securityContext={"runAsUser": 7}), "docker", {"day": "1"}, "/m"
    )
    assert " ".join(pod_program.argv).partition(" docker ")[2] == (
        "run --rm --name torpor-run-a1-s0-567890abcdef --mount type=bind,source=/m,target=/dev/termination-log "
        "--env day=1 --user 7 --entrypoint sh -- any:1 -c echo 1"
    )


def test_a_container_gets_a_secrets_value_from_the_users_environment() -> None:
    secret = {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}
    argv = program.container(pod(env=[secret]), "docker", {}, "/m").argv
    assert argv[argv.index("--env") + 1] == "PASSWORD"


@pytest.mark.attack
@pytest.mark.parametrize("image", ["--volume=/:/host", "-v/:/host", " any:1", "a b", "a\nb", "any:1 --privileged"])
async def test_an_image_of_a_workflow_is_never_an_option_of_docker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, image: str
) -> None:
    install_docker(tmp_path, monkeypatch)
    with pytest.raises(program.InvalidImageError, match="is not an image: write"):
        program.container(pod(image=image), "docker", {}, "/m")
    task = {"name": "count", "image": image, "container": {"command": ["wc"]}}
    outcome = await play(tmp_path, task)
    assert not outcome.succeeded
    assert all("--mount" not in log.read_text() for log in (tmp_path / "run" / "logs").iterdir())


@pytest.mark.parametrize("image", ["busybox", "Host:5000/a/b_c:1.0-x@sha256:0f", "[::1]:5000/a", "localhost/a:1"])
def test_an_image_of_any_registry_follows_the_end_of_the_options(image: str) -> None:
    argv = program.container(pod(image=image, args=["--privileged"]), "docker", {}, "/m").argv
    assert argv[-3:] == ("--", image, "--privileged")


@pytest.mark.attack
@pytest.mark.parametrize("name", ["A*", "*", "--privileged", "A B", "A=B"])
def test_a_variable_of_a_workflow_replaces_no_other_of_the_user(name: str) -> None:
    secret = {"name": name, "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}
    assert name not in program.container(pod(env=[secret]), "podman", {}, "/m").argv


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/runs/12:30/m", "type=bind,source=/runs/12:30/m,target=/dev/termination-log"),
        ('/a,b"c/m', 'type=bind,"source=/a,b""c/m",target=/dev/termination-log'),
    ],
)
def test_a_path_with_separators_is_mounted(path: str, expected: str) -> None:
    assert expected in program.container(pod(), "docker", {}, path).argv


def test_a_container_without_a_tool_is_refused_with_what_is_missing() -> None:
    with pytest.raises(program.MissingToolError, match="image any:1 needs docker or podman"):
        program.container(pod(), None, {}, "/m")


def install_docker(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str = DOCKER) -> None:
    tool = folder / "bin" / "docker"
    tool.parent.mkdir()
    tool.write_text(script)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")


async def test_a_container_task_runs_by_docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_docker(tmp_path, monkeypatch)
    outcome = await play(tmp_path, {"name": "count", "container": {"command": ["wc"]}, "args": {"day": "friday"}})
    assert outcome.results["count"] == {"rows": 3}
    (log,) = (tmp_path / "run" / "logs").iterdir()
    printed = set(log.read_text().splitlines())
    assert {"--entrypoint wc", "word any:1", "day is friday"} <= printed
    assert {"-rw-rw-rw-", "drwx------"} <= printed, "any user of a container can write the message, no other user"


async def test_variables_of_a_task_do_not_steer_the_client_of_docker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_docker(tmp_path, monkeypatch)
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    task = {"name": "count", "container": {}, "pod": {"env": [{"name": "DOCKER_HOST", "value": "tcp://other"}]}}
    assert (await play(tmp_path, task)).succeeded
    (log,) = (tmp_path / "run" / "logs").iterdir()
    printed = log.read_text().splitlines()
    assert printed[0] == "the client uses the default"
    assert "--env DOCKER_HOST=tcp://other" in printed


async def test_a_container_is_removed_if_its_client_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = tmp_path / "calls"
    install_docker(tmp_path, monkeypatch, ENDLESS)
    monkeypatch.setenv("calls", str(calls))
    task = {"name": "endless", "container": {"command": ["x"]}, "pod": {"terminationGracePeriodSeconds": 1}}
    running = asyncio.create_task(play(tmp_path, task))
    while not calls.exists():  # noqa: ASYNC110 - the process sends no other sign
        await asyncio.sleep(0.02)
    running.cancel()
    await running
    run, removal = calls.read_text().splitlines()
    words = run.split()
    assert removal.split() == ["rm", "--force", words[words.index("--name") + 1]]


async def test_a_resumed_run_removes_the_container_of_a_lost_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"
    install_docker(tmp_path, monkeypatch, ENDLESS)
    monkeypatch.setenv("calls", str(calls))
    await killed_when(calls, tmp_path, {"name": "endless", "container": {"command": ["x"]}})
    outcome = await engine.play([], options(tmp_path, resume=True), Changes())
    assert outcome.succeeded
    assert [line.split()[0] for line in calls.read_text().splitlines()] == ["run", "rm", "run"]


async def test_the_folder_of_a_run_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_docker(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks").mkdir()
    chosen = replace(options(tmp_path / "tasks"), folder=Path("run"))
    outcome = await engine.play([workflow({"name": "count", "container": {}})], chosen, Changes())
    assert outcome.results["count"] == {"rows": 3}


async def test_a_task_imports_the_files_of_its_source(tmp_path: Path) -> None:
    code = {"metadata": {"name": "code"}, "kind": "ConfigMap", "data": {"small.py": "def answer():\n    return 42\n"}}
    run = workflow({"name": "one", "python": "small:answer"}, source={"configMap": "code"})
    outcome = await engine.play([run, code], options(tmp_path), Changes())
    assert outcome.results["one"] == 42
    assert outcome.objects["TaskRun"][0]["status"]["pod"]["source"].startswith("sha256:")


async def test_a_source_may_have_binary_files(tmp_path: Path) -> None:
    text = (
        "def answer():\n    from pathlib import Path\n    return list(Path(__file__).with_name('x.bin').read_bytes())\n"
    )
    files = {"data": {"small.py": text}, "binaryData": {"x.bin": "/wA="}}
    code = {"metadata": {"name": "code"}, "kind": "ConfigMap", **files}
    run = workflow({"name": "one", "python": "small:answer"}, source={"configMap": "code"})
    outcome = await engine.play([run, code], options(tmp_path), Changes())
    assert outcome.results["one"] == [255, 0]


async def test_a_source_that_is_missing_fails_the_task(tmp_path: Path) -> None:
    run = workflow({"name": "one", "python": "small:answer"}, source={"configMap": "code"})
    outcome = await engine.play([run], options(tmp_path), Changes())
    assert "there is no ConfigMap code" in outcome.objects["TaskRun"][0]["status"]["message"]


@pytest.mark.parametrize(
    ("code", "output", "expected"),
    [
        (127, "sh: 1: nosuch: not found\n", False),
        (126, "sh: ./x: Permission denied\n", False),
        (125, "", False),
        (1, "docker: no\n", False),
        (127, 'docker: Error response from daemon: exec: "nosuch": executable file not found in $PATH\n', True),
        (125, "Unable to find image 'x' locally\ndocker: Error response from daemon: pull access denied\n", True),
        (127, "Error: crun: executable file `nosuch` not found in $PATH: No such file or directory\n", True),
    ],
)
def test_a_command_that_a_shell_does_not_find_is_no_failure_of_the_start(
    code: int, output: str, expected: bool
) -> None:
    assert program.could_not_start(code, output) is expected
