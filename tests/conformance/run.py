"""Runs the conformance cases against a program that speaks the container protocol. Standard library only.

    python3 tests/conformance/run.py -- sh examples/languages/shell/count.sh

Each segment of a case is one run of the program, with the environment of a pod. README.md describes the cases. The exit
code is 0 if all pass, 1 if one fails, and 2 for wrong usage.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Json = Mapping[str, Any]

CASES = Path(__file__).resolve().parent / "cases"
VERSION = 1
DOCUMENT_MAX = 4096
"""Bytes; a document must have fewer."""
LIMIT_S = 60
_OUTCOME = "/dev/termination-log"
"""The file of a pod; a file in a temporary folder takes its place."""
_KEYS = {"result", "defer", "fail", "skip", "archived"}
_IDENTITY = {
    "TORPOR_WORKFLOW": "conformance",
    "TORPOR_TASK": "count",
    "TORPOR_INDEX": "",
    "TORPOR_TASKRUN": "conformance-count-abcde",
    "TORPOR_TASKRUN_UID": "6f1c2f0e-8d0c-4a55-9a0e-0e5f5d1f0001",
    "TORPOR_NAMESPACE": "default",
}
_NONZERO = "nonzero"


class CaseFailed(Exception):  # noqa: N818 - a result, not an error of this program
    """The program does not do what a case expects."""


def main(words: Sequence[str]) -> int:
    """Run the cases and return the exit code."""
    parser = argparse.ArgumentParser(description="Run the conformance cases of the container protocol.")
    parser.add_argument("--case", action="append", help="run only this case (the name of its file)")
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="the program under test, after --")
    options = parser.parse_args(words)
    paths = [path for path in sorted(CASES.glob("*.json")) if not options.case or path.stem in options.case]
    failed = [path.stem for path in paths if not _passes(options.command, path)]
    sys.stdout.write(f"{len(paths) - len(failed)} passed, {len(failed)} failed\n")
    return 1 if failed or not paths else 0


def _passes(command: Sequence[str], path: Path) -> bool:
    try:
        play(command, json.loads(path.read_text()))
    except CaseFailed as error:
        sys.stdout.write(f"FAILED {path.stem}: {error}\n")
        return False
    sys.stdout.write(f"passed {path.stem}\n")
    return True


def play(command: Sequence[str], case: Json) -> None:
    """Run all segments of a case, each with the state that the former one wrote. Raises Failed."""
    state = case.get("state")
    for number, segment in enumerate(case["segments"], case.get("first", 0)):
        values = environment(case, segment, number, state)
        code, document = run(command, values)
        try:
            check(segment, code, document, values.get("TORPOR_OUTCOME_NONCE"))
        except CaseFailed as error:
            raise CaseFailed(f"segment {number}: {error}") from None
        state = (document or {}).get("defer", {}).get("state") if isinstance(document, dict) else None


def environment(case: Json, segment: Json, number: int, state: object) -> dict[str, str]:
    """Return the environment of a pod of this segment, as the operator sets it. The nonce of each pod is another."""
    uid, attempt = _IDENTITY["TORPOR_TASKRUN_UID"], case.get("attempt", 1)
    values: dict[str, str | None] = {
        **_IDENTITY,
        "TORPOR_PROTOCOL": str(VERSION),
        "TORPOR_OUTCOME": _OUTCOME,
        "TORPOR_OUTCOME_NONCE": secrets.token_hex(16),
        "TORPOR_ATTEMPT": str(attempt),
        "TORPOR_SEGMENT": str(number),
        "TORPOR_IDEMPOTENCY_KEY": f"{uid}-{number}",
    }
    if number > 0:
        values["TORPOR_STATE"] = _text(state)
        if segment.get("timed_out"):
            values["TORPOR_TIMED_OUT"] = "true"
        else:
            values["TORPOR_EVENT"] = _text(segment["event"])
    if "deadline" in case:
        values["TORPOR_DEADLINE"] = case["deadline"]
    for name, value in case.get("arguments", {}).items():
        values[name] = value if isinstance(value, str) else _text(value)
    values |= case.get("environment", {})
    return {name: value for name, value in values.items() if value is not None}


def run(command: Sequence[str], values: Mapping[str, str]) -> tuple[int, Any]:
    """Run the program once and return its exit code and the document that it wrote, None without one."""
    with tempfile.TemporaryDirectory() as folder:
        outcome = Path(folder) / "termination-log"
        outcome.touch()
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        own = {name: str(outcome) if value == _OUTCOME else value for name, value in values.items()}
        try:
            ended = subprocess.run(command, env={**kept, **own}, timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            raise CaseFailed(f"the program did not end within {LIMIT_S} seconds") from None
        except OSError as error:
            raise SystemExit(f"{command[0]} cannot be run: {error}") from error
        return ended.returncode, _document(outcome.read_bytes())


def _document(content: bytes) -> Any:
    if not content.strip():
        return None
    if len(content) >= DOCUMENT_MAX:
        raise CaseFailed(f"the outcome has {len(content)} bytes; it must have fewer than {DOCUMENT_MAX}")
    try:
        return json.loads(content)
    except ValueError as error:
        raise CaseFailed(f"the outcome is not JSON: {error}: {content[:200]!r}") from None


def check(segment: Json, code: int, document: Any, nonce: str | None) -> None:
    """Compare how the program ended with what the case expects. Raises Failed."""
    wanted_code = segment.get("exit", 0)
    if code == 0 if wanted_code == _NONZERO else code != wanted_code:
        raise CaseFailed(f"exit code {code}; expected {wanted_code}")
    if wanted_code != 0:
        return  # the document does not count
    if not isinstance(document, dict) or document.get("torpor") != VERSION or len(document.keys() & _KEYS) != 1:
        raise CaseFailed(f"{_text(document)} is no outcome document of version {VERSION}")
    if document.pop("nonce", None) != nonce:
        raise CaseFailed(f"the nonce of the document {_text(document)} is not TORPOR_OUTCOME_NONCE")
    wanted = normal(segment["outcome"])
    outcome = normal(document)
    if "defer" in outcome and "state" not in wanted.get("defer", {"state": None}):
        outcome = {**outcome, "defer": {name: value for name, value in outcome["defer"].items() if name != "state"}}
    if outcome != wanted:
        raise CaseFailed(f"wrote {_text(outcome)}; expected {_text(wanted)}")


def normal(document: Json) -> Json:
    """Return the document with its defaults, so that documents of equal meaning are equal."""
    match document:
        case {"fail": {"message": message, **rest}}:
            return {"torpor": VERSION, "fail": {"message": message, "retryable": rest.get("retryable", True)}}
        case {"defer": {"trigger": dict() as trigger, **rest}}:
            call = {"kwargs": {}, **trigger}
            kept = {name: value for name, value in rest.items() if value is not None or name == "state"}
            return {"torpor": VERSION, "defer": {"trigger": call, **kept}}
        case _:
            return document


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
