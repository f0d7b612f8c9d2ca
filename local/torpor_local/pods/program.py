"""The command of a pod on this machine: the worker in the chosen interpreter, or a container by docker or podman. Pure.

A python task runs as in an injected pod (ADR 0037): the packages of the runtime are appended to sys.path, so what the
interpreter has is found first.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from torpor_wire import constants

from torpor_local.pods import variables, wrapper
from torpor_local.pods.wrapper import WrappedProgram

TERMINATION_LOG = "/dev/termination-log"
ENV_TERMINATION_LOG = "TORPOR_OUTCOME"
CONTAINER_TOOLS = ("docker", "podman")
_CANNOT_RUN = frozenset({125, 126, 127})
"""Exit codes of docker and podman for a container that could not be started. Its program can end with them, too."""
_TOOL_ERROR = re.compile(r"^(?:docker: |Error: )", re.MULTILINE)
"""How a line of docker or podman begins that says why a container could not be started."""
WAIT = "import os, sys; os.read(0, 1) or sys.exit(1); "
"""What a Python program does first: `process.start` says why."""
_BOOTSTRAP = f"{WAIT}sys.path.append(sys.argv.pop()); from torpor.runtime import main; main.main(main.in_pod)"
_WAITING_SHELL = ("/bin/sh", "-c", 'read -r _ && exec "$@"', "sh")
"""The same for docker. A shell drops variables whose names have a dot, so it is not for python tasks."""

_IMAGE = re.compile(r"(?:\[[0-9a-fA-F:]+\](?::\d+)?/)?[A-Za-z0-9][\w.:/@-]*", re.ASCII)
_IMAGE_MAX = 512
_NO_MOUNTS: Mapping[str, Path] = {}
_VARIABLE = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
"""Podman takes `A*` for all variables of the user that begin with A."""

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodProgram:
    """What to start: it waits for a byte on its standard input. `own` are variables beside those of the user."""

    argv: Sequence[str]
    own: Mapping[str, str]
    is_container: bool = False
    wrapped: WrappedProgram = field(default_factory=lambda: WrappedProgram(command=()))


def could_not_start(code: int, output: str) -> bool:
    """Return whether a container has not started, by the exit code and the end of the output.

    A shell also ends with 127 if it does not find a command. In a cluster, that is a failure of the task's own program.
    """
    return code in _CANNOT_RUN and _TOOL_ERROR.search(output) is not None


def copying(pod: Object, tool: str, path: str, target: str) -> Sequence[str]:
    """Return the command that copies a file of an ended container."""
    return (tool, "cp", f"{container_name(pod)}:{path}", target)


def removal(pod: Object, tool: str) -> Sequence[str]:
    """Return the command that kills and removes the container of a pod, which outlives a killed client."""
    return (tool, "rm", "--force", container_name(pod))


class MissingToolError(Exception):
    """This machine has no tool that runs containers. The message is for the user."""


class InvalidImageError(Exception):
    """The image is not a reference that docker and podman take. The message is for the user."""


def image_problem(image: str) -> str | None:
    """Return why docker and podman get no such image, None if they do."""
    if len(image) <= _IMAGE_MAX and _IMAGE.fullmatch(image):
        return None
    return f"{image[:_IMAGE_MAX]!r} is not an image: write [registry/]name[:tag][@digest]"


def is_python(pod: Object) -> bool:
    """Whether the pod runs the worker."""
    return constants.ENV_RUNTIME in _variable_names(pod)


def is_of_earlier_version(pod: Object) -> bool:
    """Whether the pod runs the worker of a version before ADR 0042, which read other variables."""
    return constants.ENV_LAUNCH in _variable_names(pod) and not is_python(pod)


def _variable_names(pod: Object) -> set[str]:
    return {variable["name"] for variable in pod["spec"]["containers"][0].get("env") or ()}


def python(interpreter: str, packages: str, own: Mapping[str, str]) -> PodProgram:
    """Return the program of a python task. `packages` is the folder with torpor and torpor_wire."""
    return PodProgram(argv=(interpreter, "-c", _BOOTSTRAP, packages), own=own)


def container(  # noqa: PLR0913, PLR0917 - the parts of a command
    pod: Object,
    tool: str | None,
    own: Mapping[str, str],
    message_file: str,
    scripts: str | None = None,
    mounts: Mapping[str, Path] = _NO_MOUNTS,
) -> PodProgram:
    """Return the program of a container task. Raises MissingToolError and InvalidImageError.

    `scripts` is a folder. `mounts` are input files, by their paths in the container.
    """
    image, client = _image(pod, tool)
    words, arguments = variables.command(pod, own)
    wrapped = wrapper.unwrapped(words, own.get(constants.ENV_FILES))
    entrypoint = wrapped.command
    argv = (
        *_WAITING_SHELL,
        client,
        "run",
        *(("--rm",) if wrapped.file is None and not wrapped.stores_files else ()),  # copied after its end
        *("--name", container_name(pod)),
        *_bound(message_file, TERMINATION_LOG),
        *(() if scripts is None else ("--mount", f"{_mount(scripts, wrapper.SCRIPTS)},readonly")),
        *(word for path, file in mounts.items() for word in _bound(str(file), path)),
        *_environment(pod, own, wrapper.HIDDEN if wrapped.hides else frozenset()),
        *_identity(pod),
        *(("--entrypoint", entrypoint[0]) if entrypoint else ()),
        "--",  # what follows is no option
        image,
        *entrypoint[1:],
        *arguments,
    )
    # Variables of a task, such as DOCKER_HOST, are not for the client.
    return PodProgram(argv=argv, own={}, is_container=True, wrapped=wrapped)


def _image(pod: Object, tool: str | None) -> tuple[str, str]:
    """Return the image and the tool that runs it. Raises MissingToolError and InvalidImageError."""
    image = str(pod["spec"]["containers"][0].get("image") or "")
    if problem := image_problem(image):
        raise InvalidImageError(problem)
    if tool is None:
        raise MissingToolError(
            f"image {image} needs docker or podman, and neither is on the PATH: install one, or run the Workflow in a "
            "cluster"
        )
    return image, tool


def _environment(pod: Object, own: Mapping[str, str], hidden: frozenset[str]) -> Sequence[str]:
    """Return the options with the variables of the program. The client has the values of those from Secrets."""
    names = [variable["name"] for variable in pod["spec"]["containers"][0].get("env") or ()]
    missing = [name for name in names if name not in own and name not in hidden]
    given = [word for name, value in own.items() if name not in hidden for word in ("--env", f"{name}={value}")]
    return [*given, *(word for name in missing if _VARIABLE.fullmatch(name) for word in ("--env", name))]


def _identity(pod: Object) -> Sequence[str]:
    """Return the options with the user and the working directory of the container."""
    spec = pod["spec"]["containers"][0]
    user, folder = (spec.get("securityContext") or {}).get("runAsUser"), spec.get("workingDir")
    return (
        *(("--user", str(user)) if user is not None else ()),
        *((f"--workdir={folder}",) if folder else ()),
    )


def _bound(source: str, target: str) -> tuple[str, str]:
    return "--mount", _mount(source, target)


def _mount(source: str, target: str) -> str:
    """Return the value of `--mount`, a line of CSV, in which a path may have a colon."""
    line = StringIO()
    csv.writer(line, lineterminator="").writerow(("type=bind", f"source={source}", f"target={target}"))
    return line.getvalue()


def container_name(pod: Object) -> str:
    """Return the name of the container, unique on this machine."""
    return f"torpor-{pod['metadata']['name']}-{pod['metadata']['uid'][-12:]}"
