"""What `torpor-tool` does in a pod of a cluster, for a container of this machine: script and result (ADR 0060).

A local run has no such program. It mounts the script, reads the output or the file, and writes the same document. Pure.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from torpor_operator.model.pod import RUNTIME_CONTAINER
from torpor_operator.taskrun.outcomes.container_outcome import TERMINATION_MAX
from torpor_operator.taskrun.program_words import TOOL
from torpor_wire import constants

from torpor_local.pods import variables

OUTPUT_MAX = 1 << 20
"""Bytes of output that become a result, as in a pod."""
FILE_MAX = 100_000_000
"""Bytes of a file that become a result: the archive stores no more."""
HIDDEN = frozenset(
    {
        constants.ENV_OUTCOME,
        constants.ENV_OUTCOME_MAX,
        constants.ENV_OUTCOME_NONCE,
        constants.ENV_PROTOCOL,
        constants.ENV_ARCHIVE_URL,
        constants.ENV_ARCHIVE_CA,
        constants.ENV_FILES,
    }
)
"""Variables of the wrapper, which the program does not get, as in `torpor-tool run`."""
SCRIPTS = f"{constants.RUNTIME_FOLDER}/scripts"
_RUN = (TOOL, "run")
_END = "--"
_FILE, _STDOUT = "--file", "--stdout"

Object = Mapping[str, Any]


class ResultError(Exception):
    """The program has no valid result. The message is for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedProgram:
    """The command of a container without its wrapper. `stdout`, `file`: what its result is.

    `stores_files`: whether files are copied from it after its end.
    """

    command: Sequence[str]
    stdout: bool = False
    file: str | None = None
    stores_files: bool = False
    hides: bool = False
    """Whether the program gets none of the variables of its wrapper."""

    @property
    def has_result(self) -> bool:
        """Whether a wrapper would store the result."""
        return self.stdout or self.file is not None


def unwrapped(command: Sequence[str], files: str | None = None) -> WrappedProgram:
    """Return what a command of a pod runs. `files` is the variable by which the wrapper stores outputs."""
    if tuple(command[:2]) != _RUN:
        return WrappedProgram(command=command)
    options, program = command[2 : command.index(_END)], command[command.index(_END) + 1 :]
    file = options[options.index(_FILE) + 1] if _FILE in options else None
    return WrappedProgram(
        command=program,
        stdout=_STDOUT in options,
        file=file,
        stores_files=files is not None,
        hides=not json.loads(files or "{}").get("outcome"),
    )


def scripts(pod: Object) -> dict[str, str]:
    """Return the scripts of the pod's containers, by the name of the container."""
    copying = (each for each in pod["spec"].get("initContainers") or () if each["name"] == RUNTIME_CONTAINER)
    entries = (entry for each in copying for entry in each.get("env") or ())
    named = ((entry["name"].removeprefix(constants.ENV_SCRIPT), entry["value"]) for entry in entries)
    return {name: variables.expanded(text, {}) for name, text in named}


def value(content: bytes, name: str, most: int) -> Any:
    """Return the result that a program printed or wrote: JSON, or a text. Raises ResultError."""
    if len(content) > most:
        raise ResultError(f"{name} has more than {most} bytes, too many for a result")
    try:
        return _value(content.decode().rstrip("\r\n"))
    except UnicodeDecodeError as error:
        raise ResultError(f"{name} is not UTF-8 (at byte {error.start})") from error


def document(pod: Object, key: str, content: Any, files: Sequence[Object] = ()) -> str:
    """Return an outcome document with the nonce of the pod. `files` are the descriptions of stored outputs."""
    nonce = (pod["metadata"].get("annotations") or {}).get(constants.OUTCOME_NONCE, "")
    described = {"files": [*files]} if files else {}
    return json.dumps({"torpor": constants.PROTOCOL, "nonce": nonce, **described, key: content}, ensure_ascii=False)


def archived(pod: Object, about: Object, files: Sequence[Object]) -> str:
    """Return the document of a result in the archive. Keys that do not fit are left out, as `torpor-tool` does."""
    message = document(pod, "archived", {**about}, files)
    return message if fits(message) else document(pod, "archived", {**about, "keys": None}, files)


def failure(pod: Object, message: str, *, retryable: bool = False) -> str:
    """Return the outcome document of a program whose result cannot be stored."""
    return document(pod, "fail", {"message": message, "retryable": retryable})


def fits(message: str) -> bool:
    """Whether a termination message is not cut."""
    return len(message.encode()) < TERMINATION_MAX


def _value(text: str) -> Any:
    """Return the JSON value of a text, None for an empty one, and the text if it is not JSON."""
    if not text:
        return None
    try:
        parsed = json.loads(text, parse_constant=_refuse)
        if "\\u" in text:  # an unpaired surrogate is not UTF-8
            json.dumps(parsed, ensure_ascii=False).encode()
    except (ValueError, RecursionError):  # also UnicodeEncodeError
        return text
    return parsed


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
