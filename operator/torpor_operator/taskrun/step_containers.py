"""The steps of a container task: its last one is the container `main`, the others are init containers before it. Pure.

The kubelet runs init containers in order and ends the pod at the first that fails. Steps have what the container of the
task has. A step whose result a wrapper stores has the token for the archive, and no other step has one (ADR 0061).
"""

from typing import Any

from torpor_crds.models.program import Command, ContainerStep
from torpor_wire import constants

from torpor_operator.model.pod import CREDENTIALS_VOLUME, RUNTIME_CONTAINER
from torpor_operator.taskrun import program_words

_ARCHIVE = frozenset({constants.ENV_ARCHIVE_URL, constants.ENV_ARCHIVE_CA})
_OF_MAIN = _ARCHIVE | {constants.ENV_OUTCOME_NONCE, constants.ENV_FILES, constants.ENV_STEP}
_OF_WRAPPER = frozenset({constants.ENV_OUTCOME, constants.ENV_OUTCOME_MAX, constants.ENV_PROTOCOL})


def build(main: dict[str, Any], container: Command, env: list[dict[str, Any]], nonce: str) -> list[dict[str, Any]]:
    """The init containers of the steps before the last one. `main` is that of the last one; they share `env`."""
    template = {key: value for key, value in main.items() if key not in {"command", "args", "env"}}
    mounts = [mount for mount in main.get("volumeMounts", []) if mount["name"] != CREDENTIALS_VOLUME]
    plain = template | {"volumeMounts": mounts}
    return [
        (template if step.is_wrapped else plain) | _step(step, main["image"], env, nonce)
        for step in container.earlier_steps
    ]


def _step(step: ContainerStep, image: str, env: list[dict[str, Any]], nonce: str) -> dict[str, Any]:
    shared = [variable for variable in env if variable["name"] not in _OF_MAIN]
    names = {variable.name for variable in step.env} | (frozenset() if step.is_wrapped else _OF_WRAPPER)
    own = [variable for variable in shared if variable["name"] not in names]
    own += [variable.to_json() for variable in step.env]
    if step.is_wrapped:
        own += [variable for variable in env if variable["name"] in _ARCHIVE]
        own += wrapper_variables(step.name)
        own += [{"name": constants.ENV_OUTCOME_NONCE, "value": nonce}]
    words = {"command": program_words.command(step, step.name), "args": list(step.args)}
    filled = {key: value for key, value in words.items() if value}
    return {"name": step.name, "image": step.image or image, "env": own} | filled


def wrapper_variables(step: str) -> list[dict[str, Any]]:
    """The variable by which the wrapper of a step names its result in the archive."""
    return [{"name": constants.ENV_STEP, "value": step}]


def scripts(container: Command, main_name: str) -> list[dict[str, Any]]:
    """The variables of all scripts of the pod, for the container that writes them."""
    named = [*((step.name, step) for step in container.earlier_steps), (main_name, container.main)]
    return [variable for name, program in named for variable in program_words.script_variable(program, name)]


def with_scripts(containers: list[dict[str, Any]], scripts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The init containers, of which that of the runtime also writes these scripts."""
    if not scripts:
        return containers
    return [
        each | {"env": [*each["env"], *scripts]} if each["name"] == RUNTIME_CONTAINER else each for each in containers
    ]
