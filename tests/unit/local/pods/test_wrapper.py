"""Scripts and results of containers in a local run, which has no wrapper in the container."""

from pathlib import Path
from typing import Any

import pytest
from torpor_local.pods import wrapper

from tests.unit.local.local_runs import play

DOCKER = """#!/bin/sh
files="${0%/*}/files"
mkdir -p "$files"
case "$1" in
  cp) cp -P "$files/${2##*/}" "$3"; exit;;
  rm) exit 0;;
esac
while [ "$1" != -- ]; do
  case "$1" in
    --mount)
      case "$2" in *target=/torpor/scripts*) scripts="${2#*source=}"; scripts="${scripts%%,target=*}";; esac
      shift;;
    --env) export "$2"; shift;;
    --entrypoint) entrypoint="$2"; shift;;
    --name|--user) shift;;
  esac
  shift
done
shift 2
cd "$files"
for word in "$@"; do
  shift
  case "$word" in /torpor/scripts/*) word="$scripts/${word##*/}";; esac
  set -- "$@" "$word"
done
exec "$entrypoint" "$@"
"""


@pytest.fixture(autouse=True)
def _docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that runs the program of a container as a process, with a folder for its files."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "docker").write_text(DOCKER)
    (folder / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def task(**program: Any) -> dict[str, Any]:
    return {"name": "a", "image": "any:1", "container": program}


@pytest.mark.parametrize(
    ("program", "result"),
    [
        ({"script": "echo one; echo two >&2", "result": "stdout"}, "one"),
        ({"script": '#!/bin/sh\necho "[$1]"', "interpreter": ["sh"], "args": ["x y"], "result": "stdout"}, "[x y]"),
        ({"script": 'echo "$(echo 1) $$HOME" | cut -c 1', "result": "stdout"}, 1),
        ({"command": ["echo", '{"rows": 3}'], "result": "stdout"}, {"rows": 3}),
        ({"script": "printf 'a\\n\\n' > out", "result": {"path": "/tmp/out"}}, "a"),
        ({"command": ["sh", "-c", "exit 3"], "result": "exitCode"}, 3),
        ({"command": ["true"], "result": "stdout"}, None),
    ],
)
async def test_a_script_and_its_result_are_those_of_a_pod(tmp_path: Path, program: dict[str, Any], result: Any) -> None:
    outcome = await play(tmp_path, task(**program))
    assert outcome.succeeded, outcome.objects
    assert outcome.results["a"] == result


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ({"script": "echo 1; exit 4", "result": "stdout"}, "exit code 4"),
        ({"script": "true", "result": {"path": "/tmp/out"}}, "the program wrote no result"),
        ({"script": "printf '\\377'", "result": "stdout"}, "the standard output is not UTF-8 (at byte 0)"),
        (
            {"script": "head -c 1100000 /dev/zero", "result": "stdout"},
            "the standard output has more than",
        ),
    ],
)
async def test_a_result_that_cannot_be_stored_fails_the_task(
    tmp_path: Path, program: dict[str, Any], message: str
) -> None:
    outcome = await play(tmp_path, task(**program))
    assert not outcome.succeeded
    assert message in str(outcome.objects)


LARGE = {
    "text": ("stdout", "head -c 5000 /dev/zero | tr '\\0' x", "x" * 5000),
    "list": ({"path": "/tmp/out"}, "echo \"[1$(yes ,2 | head -n 3000 | tr -d '\\n')]\" > out", [1, *([2] * 3000)]),
    "object": ("stdout", "printf '{\"a\": \"'; head -c 9000 /dev/zero | tr '\\0' y; printf '\"}'", {"a": "y" * 9000}),
}


@pytest.mark.parametrize(("result", "script", "value"), LARGE.values(), ids=LARGE)
async def test_a_result_of_4096_bytes_and_more_is_in_the_archive(
    tmp_path: Path, result: Any, script: str, value: Any
) -> None:
    outcome = await play(tmp_path, task(script=script, result=result))
    assert outcome.succeeded, outcome.objects
    (run,) = outcome.objects["TaskRun"]
    assert run["status"]["stored"]["size"] > 4096
    assert outcome.results["a"] == value


@pytest.mark.attack
@pytest.mark.parametrize(("fields", "shown"), [({}, "0"), ({"outcome": True}, "5")])
async def test_a_wrapped_program_gets_no_variable_of_its_wrapper(
    tmp_path: Path, fields: dict[str, Any], shown: str
) -> None:
    script = "env | grep -cE '^TORPOR_(FILES|OUTCOME|OUTCOME_MAX|OUTCOME_NONCE|PROTOCOL)=' > out || true"
    files = {"out": [{"name": "out", "path": "/tmp/out"}]}
    outcome = await play(tmp_path, task(script=script, **fields) | {"files": files})
    assert outcome.succeeded, outcome.objects
    assert (tmp_path / "bin" / "files" / "out").read_text().strip() == shown


@pytest.mark.attack
async def test_a_link_in_a_container_names_no_file_of_this_machine(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the user")
    outcome = await play(tmp_path, task(script=f"ln -s {secret} out", result={"path": "/tmp/out"}))
    assert not outcome.succeeded
    assert "of the user" not in str(outcome)


def test_a_command_of_a_pod_loses_its_wrapper() -> None:
    assert wrapper.unwrapped(["sh", "-c", "x"]) == wrapper.WrappedProgram(command=["sh", "-c", "x"])
    words = ["/torpor/torpor-tool", "run", "--file", "/o", "--", "p", "--", "x"]
    assert wrapper.unwrapped(words) == wrapper.WrappedProgram(command=["p", "--", "x"], file="/o", hides=True)
