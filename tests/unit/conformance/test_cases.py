"""The conformance cases, with each program of examples/languages that this machine can run."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from torpor_operator.taskrun.outcomes import container_outcome
from torpor_operator.taskrun.outcomes.container_outcome import DocumentRules, InvalidOutcome

ROOT = Path(__file__).resolve().parents[3]
LANGUAGES = ROOT / "examples/languages"
RUN = ROOT / "tests/conformance/run.py"
CASES = {path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "tests/conformance/cases").glob("*.json"))}


def conformance(*command: str, only: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, RUN, *only, "--", *command], capture_output=True, text=True, check=False)


def passes(*command: str) -> None:
    ended = conformance(*command)
    assert ended.returncode == 0, ended.stdout
    assert ended.stdout.endswith(f"{len(CASES)} passed, 0 failed\n")


def test_shell_passes() -> None:
    passes("sh", str(LANGUAGES / "shell/count.sh"))


def test_python_without_the_sdk_passes() -> None:
    passes(sys.executable, str(LANGUAGES / "python/count.py"))


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_node_passes() -> None:
    passes("node", str(LANGUAGES / "node/count.mjs"))


@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
def test_go_passes(tmp_path: Path) -> None:
    program = tmp_path / "count"
    subprocess.run(["go", "build", "-o", program, "."], cwd=LANGUAGES / "go", check=True)
    passes(str(program))


@pytest.mark.parametrize("name", CASES)
def test_the_operator_accepts_the_outcomes_that_a_case_expects(name: str) -> None:
    for segment in CASES[name]["segments"]:
        if "outcome" in segment:
            document = {**segment["outcome"], "nonce": "n"}
            outcome = container_outcome.parse(json.dumps(document), DocumentRules(nonce="n"))
            assert not isinstance(outcome, InvalidOutcome), outcome


def test_each_case_has_a_description() -> None:
    assert all(case["description"].endswith(".") for case in CASES.values())


_FIRST_WAIT = json.dumps(CASES["count"]["segments"][0]["outcome"])
WRONG: dict[str, Any] = {
    "nothing": ("true", "null is no outcome document"),
    "text": ("echo done > $TORPOR_OUTCOME", "the outcome is not JSON"),
    "a result outside of a document": ("echo '{\"count\": 3}' > $TORPOR_OUTCOME", "is no outcome document"),
    "a document without the nonce": ('echo \'{"torpor":1,"result":1}\' > $TORPOR_OUTCOME', "the nonce of the document"),
    "both": ('echo \'{"torpor":1,"result":1,"skip":{}}\' > $TORPOR_OUTCOME', "is no outcome document"),
    "another end": (
        'echo \'{"torpor":1,"nonce":"\'$TORPOR_OUTCOME_NONCE\'","result":1}\' > $TORPOR_OUTCOME',
        'expected {"torpor":1,"defer"',
    ),
    "too much": ("head -c 5000 /dev/zero | tr '\\0' 1 > $TORPOR_OUTCOME", "the outcome has 5000 bytes"),
    "another exit code": ("exit 4", "exit code 4; expected 0"),
    "a state that is lost": (
        f"echo '{_FIRST_WAIT}' | sed s/{{/{{'\"nonce\":\"'$TORPOR_OUTCOME_NONCE'\",'/ > $TORPOR_OUTCOME",
        "FAILED count: segment 2",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_program_that_differs_fails(what: str) -> None:
    script, said = WRONG[what]
    ended = conformance("sh", "-c", script, only=("--case", "count"))
    assert ended.returncode == 1
    assert said in ended.stdout
