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
"""Bytes of output or of a file that become a result, as in a pod."""
SCRIPTS = f"{constants.RUNTIME_FOLDER}/scripts"
_RUN = (TOOL, "run")
_END = "--"
_FILE, _STDOUT = "--file", "--stdout"

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedProgram:
    """The command of a container without its wrapper. `stdout`, `file`: what its result is.

    `stores_files`: whether files are copied from it after its end.
    """

    command: Sequence[str]
    stdout: bool = False
    file: str | None = None
    stores_files: bool = False

    @property
    def has_result(self) -> bool:
        """Whether a wrapper would store the result."""
        return self.stdout or self.file is not None


def unwrapped(command: Sequence[str], *, stores_files: bool = False) -> WrappedProgram:
    """Return what a command of a pod runs. `stores_files`: whether the wrapper stores outputs."""
    if tuple(command[:2]) != _RUN:
        return WrappedProgram(command=command)
    options, program = command[2 : command.index(_END)], command[command.index(_END) + 1 :]
    file = options[options.index(_FILE) + 1] if _FILE in options else None
    return WrappedProgram(command=program, stdout=_STDOUT in options, file=file, stores_files=stores_files)


def scripts(pod: Object) -> dict[str, str]:
    """Return the scripts of the pod's containers, by the name of the container."""
    copying = (each for each in pod["spec"].get("initContainers") or () if each["name"] == RUNTIME_CONTAINER)
    entries = (entry for each in copying for entry in each.get("env") or ())
    named = ((entry["name"].removeprefix(constants.ENV_SCRIPT), entry["value"]) for entry in entries)
    return {name: variables.expanded(text, {}) for name, text in named}


def document(pod: Object, content: bytes, name: str) -> str:
    """Return the outcome document of a program that ended with code 0 and whose output or file has this content."""
    nonce = (pod["metadata"].get("annotations") or {}).get(constants.OUTCOME_NONCE, "")
    result = {"torpor": constants.PROTOCOL, "nonce": nonce}
    if len(content) > OUTPUT_MAX:
        return failure(pod, f"{name} has more than {OUTPUT_MAX} bytes, too many for a result")
    try:
        text = content.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        return failure(pod, f"{name} is not UTF-8 (at byte {error.start})")
    message = json.dumps(result | {"result": _value(text)}, ensure_ascii=False)
    if (size := len(message.encode())) >= TERMINATION_MAX:
        return failure(
            pod, f"the result has {size} bytes; a local run stores less than {TERMINATION_MAX} of a container"
        )
    return message


def with_files(pod: Object, message: str, files: Sequence[Object], *, has_result: bool) -> str:
    """Return the document of a program with outputs: that of its result, or what the program wrote itself."""
    nonce = (pod["metadata"].get("annotations") or {}).get(constants.OUTCOME_NONCE, "")
    own = json.loads(message) if has_result else {"message": message}
    return json.dumps({"torpor": constants.PROTOCOL, "nonce": nonce, "files": [*files], **own}, ensure_ascii=False)


def failure(pod: Object, message: str) -> str:
    """Return the outcome document of a program whose result cannot be stored."""
    nonce = (pod["metadata"].get("annotations") or {}).get(constants.OUTCOME_NONCE, "")
    failed = {"message": message, "retryable": False}
    return json.dumps({"torpor": constants.PROTOCOL, "nonce": nonce, "fail": failed})


def _value(text: str) -> Any:
    """Return the JSON value of a text, None for an empty one, and the text if it is not JSON."""
    if not text:
        return None
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
