"""The volumes and variables for the files of a task, and the init container that fetches inputs (ADR 0064). Pure.

Inputs are in one emptyDir, and each is mounted at its path by a subPath. The kubelet mounts ConfigMaps itself.
"""

from typing import Any

from torpor_crds.models.files import RunFiles, RunInput
from torpor_crds.models.pod_fields import PodFields
from torpor_crds.models.taskrun import TaskRun
from torpor_wire import canonical, constants

from torpor_operator import pod_security
from torpor_operator.model.pod import FILES_CONTAINER, FILES_VOLUME, INPUT_VOLUME
from torpor_operator.model.snapshot import PodContext
from torpor_operator.taskrun import runtime_volume
from torpor_operator.taskrun.container_environment import literal, outcome_max
from torpor_operator.taskrun.runtime_volume import PodParts

_CREDENTIALS = "torpor-files-credentials"
_FILE_GIB = 10
"""What `torpor-tool` writes at most for an input, and room for each output in /files/out."""
_SPARE_GIB = 2
"""Room for what else the program writes to /files/out."""
_FETCH = ["/torpor-tool", "fetch"]
_NO_FILES = RunFiles()
_NO_PARTS = PodParts()

SecretReference = tuple[str, str]
"""The name of a Secret, and a key of it."""


def of_task(taskrun: TaskRun) -> RunFiles:
    """The files of the task; empty for one without files."""
    return taskrun.spec.files or _NO_FILES


def stores_files(taskrun: TaskRun) -> bool:
    """Whether the task is a container with outputs, so that a wrapper starts its program."""
    return taskrun.spec.container is not None and bool(of_task(taskrun).out)


def parts(taskrun: TaskRun, context: PodContext, chosen: PodFields) -> PodParts:
    """What the files add to the pod and to its container."""
    if (files := taskrun.spec.files) is None:
        return _NO_PARTS
    fetched = [entry for entry in files.in_ if entry.config_map is None]
    mounted = [(f"{INPUT_VOLUME}{number}", entry) for number, entry in enumerate(files.in_) if entry.config_map]
    mounts = [{"name": FILES_VOLUME, "mountPath": entry.path, "subPath": f"in/{entry.name}"} for entry in fetched]
    written = [output for output in files.out if output.path.startswith(f"{constants.FILES_FOLDER}/out/")]
    if written:
        mounts.append({"name": FILES_VOLUME, "mountPath": f"{constants.FILES_FOLDER}/out", "subPath": "out"})
    size = f"{(len(fetched) + len(written)) * _FILE_GIB + _SPARE_GIB}Gi"
    volumes: list[dict[str, Any]] = [{"name": FILES_VOLUME, "emptyDir": {"sizeLimit": size}}] if mounts else []
    archived = any(entry.origins for entry in fetched) and context.archive is not None
    if archived:
        volumes.append({"name": _CREDENTIALS, "projected": {"sources": [runtime_volume.ARCHIVE_TOKEN]}})
    return PodParts(
        volumes=[*volumes, *(_config_map_volume(name, entry) for name, entry in mounted)],
        mounts=[*mounts, *(_config_map_mount(name, entry) for name, entry in mounted)],
        init_containers=[_fetch(taskrun, fetched, context, chosen, archived=archived)] if fetched else [],
    )


def wrapper_variables(taskrun: TaskRun) -> list[dict[str, Any]]:
    """The variables by which the wrapper of a container stores the outputs; none without outputs."""
    program, out = taskrun.spec.container, of_task(taskrun).out
    if program is None or not out:
        return []
    spec = {"out": [output.to_json() for output in out], "outcome": program.writes_outcomes}
    values = {constants.ENV_OUTCOME: constants.TERMINATION_LOG, constants.ENV_FILES: literal(canonical.plain(spec))}
    return [*({"name": name, "value": value} for name, value in values.items()), outcome_max()]


def python_variables(taskrun: TaskRun) -> dict[str, str]:
    """The variable by which a python task finds its files; none for a task without files."""
    files = of_task(taskrun)
    if not files.in_ and not files.out:
        return {}
    spec = {
        "in": [{"name": entry.name, "path": entry.path} for entry in files.in_],
        "out": [output.to_json() for output in files.out],
    }
    return {constants.ENV_FILES: literal(canonical.plain(spec))}


def _config_map_volume(name: str, entry: RunInput) -> dict[str, Any]:
    source = entry.config_map
    return {"name": name, "configMap": {"name": source.name if source else ""}}


def _config_map_mount(name: str, entry: RunInput) -> dict[str, Any]:
    key = entry.config_map.key if entry.config_map else None
    return {"name": name, "mountPath": entry.path, "readOnly": True} | ({"subPath": key} if key else {})


def _fetch(
    taskrun: TaskRun, fetched: list[RunInput], context: PodContext, chosen: PodFields, *, archived: bool
) -> dict[str, Any]:
    """The init container, which has no other credential than the token for the archive."""
    folder = f"{constants.FILES_FOLDER}/in"
    secrets = [*dict.fromkeys(each for entry in fetched for each in _secrets(entry).values())]
    inputs = [_input(entry, f"{folder}/{entry.name}", secrets) for entry in fetched]
    values = {
        constants.ENV_NAMESPACE: taskrun.metadata.namespace,
        constants.ENV_TASKRUN: taskrun.metadata.name,
        constants.ENV_FILES: literal(canonical.plain({"in": inputs})),
        constants.ENV_ALLOW_NETWORKS: ",".join(context.allow_networks),
        constants.ENV_DENY_NETWORKS: ",".join(context.deny_networks),
    }
    if archived and context.archive is not None:
        values |= {
            constants.ENV_ARCHIVE_URL: context.archive.url,
            constants.ENV_ARCHIVE_CA: context.archive.certificate,
        }
    credentials = {"name": _CREDENTIALS, "mountPath": constants.CREDENTIALS, "readOnly": True}
    node = {"name": "TORPOR_NODE_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}
    return {
        "name": FILES_CONTAINER,
        "image": context.runtime_image,
        "command": _FETCH,
        "env": [
            *({"name": name, "value": value} for name, value in values.items() if value),
            node,
            *(_secret_variable(number, each) for number, each in enumerate(secrets)),
        ],
        "resources": runtime_volume.compute(pod_security.resources(context.defaults, chosen)),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": pod_security.of_own_container(context.defaults),
        "volumeMounts": [
            {"name": FILES_VOLUME, "mountPath": folder, "subPath": "in"},
            *([credentials] if archived else []),
        ],
    }


def _secrets(entry: RunInput) -> dict[str, SecretReference]:
    """The keys of Secrets that a source names, by their fields. An author wrote them: they have no expressions."""
    source = entry.object or entry.git
    fields = source.to_json() if source is not None else {}
    return {field: (value["name"], value["key"]) for field, value in fields.items() if isinstance(value, dict)}


def _secret_variable(number: int, reference: SecretReference) -> dict[str, Any]:
    """A variable of the init container alone. The kubelet reads the Secret, so the operator never has its value."""
    name, key = reference
    source = {"secretKeyRef": {"name": name, "key": key}}
    return {"name": f"{constants.ENV_FILE_KEY}{number}", "valueFrom": source}


def _input(entry: RunInput, target: str, secrets: list[SecretReference]) -> dict[str, Any]:
    """An input as the init container reads it: with the names of variables in place of Secrets."""
    body = {name: value for name, value in entry.to_json().items() if name != "path"} | {"target": target}
    found = _secrets(entry)
    variables = {field: f"{constants.ENV_FILE_KEY}{secrets.index(each)}" for field, each in found.items()}
    return {name: value | variables if name in {"object", "git"} else value for name, value in body.items()}
