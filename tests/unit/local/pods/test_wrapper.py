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
        ({"script": "head -c 5000 /dev/zero | tr '\\0' x", "result": "stdout"}, "a local run stores less than 4096"),
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


@pytest.mark.attack
async def test_a_link_in_a_container_names_no_file_of_this_machine(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the user")
    outcome = await play(tmp_path, task(script=f"ln -s {secret} out", result={"path": "/tmp/out"}))
    assert not outcome.succeeded
    assert "of the user" not in str(outcome)


def test_the_output_stays_in_the_log(tmp_path: Path) -> None:
    assert wrapper.unwrapped(["sh", "-c", "x"]) == wrapper.WrappedProgram(command=["sh", "-c", "x"])
    words = ["/torpor/torpor-tool", "run", "--file", "/o", "--", "p", "--", "x"]
    assert wrapper.unwrapped(words) == wrapper.WrappedProgram(command=["p", "--", "x"], file="/o")
