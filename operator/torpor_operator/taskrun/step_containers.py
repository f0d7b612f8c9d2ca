"""The steps of a container task: its last one is the container `main`, the others are init containers before it. Pure.

The kubelet runs init containers in order and ends the pod at the first that fails. Steps have what the container of the
task has, apart from tokens and the variables of its wrapper (ADR 0061).
"""

from typing import Any

from torpor_crds.models.program import Command, ContainerStep
from torpor_wire import constants

from torpor_operator.taskrun import program_words

_CREDENTIALS = "torpor-credentials"
_OF_MAIN = frozenset(
    {constants.ENV_ARCHIVE_URL, constants.ENV_ARCHIVE_CA, constants.ENV_OUTCOME_NONCE, constants.ENV_FILES}
)
_OF_WRAPPER = frozenset({constants.ENV_OUTCOME, constants.ENV_OUTCOME_MAX, constants.ENV_PROTOCOL})


def build(main: dict[str, Any], container: Command, env: list[dict[str, Any]], nonce: str) -> list[dict[str, Any]]:
    """The init containers of the steps before the last one. `main` is that of the last one; they share `env`."""
    shared = [variable for variable in env if variable["name"] not in _OF_MAIN]
    mounts = [mount for mount in main.get("volumeMounts", []) if mount["name"] != _CREDENTIALS]
    template = {key: value for key, value in main.items() if key not in {"command", "args"}} | {"volumeMounts": mounts}
    return [template | _step(step, main["image"], shared, nonce) for step in container.earlier_steps]


def _step(step: ContainerStep, image: str, shared: list[dict[str, Any]], nonce: str) -> dict[str, Any]:
    names = {variable.name for variable in step.env} | (frozenset() if step.is_wrapped else _OF_WRAPPER)
    env = [variable for variable in shared if variable["name"] not in names]
    env += [variable.to_json() for variable in step.env]
    if step.is_wrapped:
        env += [{"name": constants.ENV_OUTCOME_NONCE, "value": nonce}]
    words = {"command": program_words.command(step, step.name), "args": list(step.args)}
    filled = {key: value for key, value in words.items() if value}
    return {"name": step.name, "image": step.image or image, "env": env} | filled


def scripts(container: Command, main_name: str) -> list[dict[str, Any]]:
    """The variables of all scripts of the pod, for the container that writes them."""
    named = [*((step.name, step) for step in container.earlier_steps), (main_name, container.main)]
    return [variable for name, program in named for variable in program_words.script_variable(program, name)]
