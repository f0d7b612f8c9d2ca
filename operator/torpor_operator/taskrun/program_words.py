"""The command of a container: its own, that of a script, and `torpor-tool run` before either (ADR 0060). Pure."""

from typing import Any

from torpor_crds.models.program import ContainerProgram
from torpor_wire import constants

from torpor_operator.taskrun import container_environment

TOOL = f"{constants.RUNTIME_FOLDER}/torpor-tool"
_SCRIPTS = f"{constants.RUNTIME_FOLDER}/scripts"
_SHELL = ("sh",)


def command(program: ContainerProgram, name: str, *, stores_files: bool = False) -> list[str]:
    """The command of the container `name`; empty for the entrypoint of its image.

    `stores_files`: whether the wrapper stores outputs (ADR 0064).
    """
    words = list(program.command)
    if program.script is not None:
        words = [*_interpreter(program), f"{_SCRIPTS}/{name}"]
    return [TOOL, "run", *_options(program), "--", *words] if program.is_wrapped or stores_files else words


def script_variable(program: ContainerProgram, name: str) -> list[dict[str, Any]]:
    """The variable by which `torpor-tool copy` gets the script of a container."""
    if not program.script:
        return []
    text = container_environment.literal(program.script)
    return [{"name": f"{constants.ENV_SCRIPT}{name}", "value": text}]


def _interpreter(program: ContainerProgram) -> tuple[str, ...]:
    """What runs the script; empty if its first line says so, because the kernel reads it."""
    if program.interpreter:
        return program.interpreter
    return () if program.script is not None and program.script.startswith("#!") else _SHELL


def _options(program: ContainerProgram) -> list[str]:
    if not program.is_wrapped:
        return []
    return ["--stdout"] if program.result_path is None else ["--file", program.result_path]
