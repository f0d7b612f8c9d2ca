"""Runs one task in the foreground: in this process, or in that of another interpreter with the same terminal."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torpor
import torpor_wire
from torpor import debugging
from torpor.debugging import TIMED_OUT_WORD, DebugRequest
from torpor_client.runs import references

from torpor_cli import errors
from torpor_cli.errors import ExitCode
from torpor_cli.local_run import folders, task_call
from torpor_cli.local_run.workflow_file import WorkflowFile

_START = """
import sys
sys.path.append(sys.argv[1])
sys.path[:0] = sys.argv[3:]
from torpor import debugging
request = sys.argv[2]
del sys.argv[1:]
sys.exit(debugging.main(request))
"""
"""The program of the other interpreter. Its own packages come first, also a package `torpor` of its own."""


def request(file: WorkflowFile, task: str, arguments: str | None, events: Sequence[str]) -> DebugRequest:
    """Return the call of `--task` with `--args` and `--event`. Raises UsageError."""
    wanted = references.parse(f"run/{task}")
    metadata = file.workflow["metadata"]
    return task_call.build(
        file.spec(),
        (wanted.task or "", wanted.path or ()),
        given=_arguments(arguments),
        events=tuple(map(_event, events)),
        workflow=metadata.get("name") or str(metadata.get("generateName") or "debug").rstrip("-"),
    )


def run(call: DebugRequest, python: str, file: WorkflowFile) -> int:
    """Run a task with an interpreter. Return the exit code."""
    from torpor_local import private_folder  # noqa: PLC0415 - an extra of this package, of which this needs no library

    with private_folder.create_locked() as (folder, lock):
        packages, scratch = folder / "lib", folder / "source"
        packages.mkdir()
        scratch.mkdir()
        source = folders.source_of_task(file.spec(), call.task, file.others, Path(file.name).parent, scratch)
        first = [str(source.absolute())] if source is not None else []
        if _is_this_process(python):
            sys.path[:0] = [*first, os.getcwd()]  # noqa: PTH109 - as `python -m` does
            return debugging.run(call)
        for package in (torpor, torpor_wire):
            origin = Path(package.__path__[0])
            (packages / origin.name).symlink_to(origin.resolve(), target_is_directory=True)
        return _foreground([python, "-c", _START, str(packages), call.json(), *first], lock)


def _is_this_process(python: str) -> bool:
    return Path(python).resolve() == Path(sys.executable).resolve() and sys.prefix == _prefix(python)


def _prefix(python: str) -> str:
    """Return `sys.prefix` of an interpreter: the folder of its virtual environment."""
    folder = Path(python).absolute().parent.parent
    return str(folder) if (folder / "pyvenv.cfg").exists() else sys.base_prefix


def _foreground(command: Sequence[str], lock: int) -> int:
    """Run a process on this terminal. Ctrl-C reaches it directly; this process waits for its end.

    `lock` is the descriptor of the lock of its folder: the process may outlive this one.
    """
    try:
        process = subprocess.Popen(command, pass_fds=(lock,))
    except OSError as error:
        raise errors.UsageError(f"{command[0]} cannot be started: {error.strerror or error}") from error
    while True:
        try:
            code = process.wait()
            break
        except KeyboardInterrupt:
            continue
    return ExitCode.INTERRUPTED if code < 0 else code


def _arguments(text: str | None) -> Mapping[str, Any]:
    if text is None:
        return {}
    arguments = _json("--args", text)
    if not isinstance(arguments, dict):
        raise errors.UsageError(f'--args {text}: write a JSON object, such as \'{{"path": "a.csv"}}\'')
    return arguments


def _event(text: str) -> str:
    if text != TIMED_OUT_WORD:
        _json("--event", text)
    return text


def _json(option: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise errors.UsageError(f"{option} {text}: this is not JSON: {error}") from None
