"""Builds the pod of a task: one container, with only the credentials that the task uses.

The pod of a python task has a projected token of one hour, since it claims and reports by itself. The pod of a
container task has none: the operator claims for it before it is scheduled and reads its outcome from the pod, which a
finalizer keeps until the outcome is stored.
"""

import json
from typing import Any

from torpor_api.models.log_mode import LogMode
from torpor_api.models.pod_fields import PodFields
from torpor_api.models.taskrun import TaskRun
from torpor_wire import constants, instance_paths, names

from torpor_operator import pod_security
from torpor_operator.model.pod import pod_name
from torpor_operator.model.snapshot import PodContext
from torpor_operator.taskrun.builder import reference

MAIN = "main"
_TOKEN_SECONDS = 3600
_ARCHIVE_TOKEN: dict[str, Any] = {
    "serviceAccountToken": {
        "path": constants.ARCHIVE_TOKEN,
        "audience": constants.ARCHIVE_AUDIENCE,
        "expirationSeconds": _TOKEN_SECONDS,
    }
}
_CREDENTIALS: list[dict[str, Any]] = [
    {"serviceAccountToken": {"path": "token", "expirationSeconds": _TOKEN_SECONDS}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
]
_UNSET = PodFields()


def build(taskrun: TaskRun, context: PodContext, chosen: PodFields | None = None) -> dict[str, Any]:
    """The pod of the TaskRun's present segment, as JSON; `chosen` are the fields that the task sets."""
    chosen = chosen or _UNSET
    container = taskrun.spec.container is not None
    scratch, _ = pod_security.scratch(context.defaults, chosen)
    spec = {
        "restartPolicy": "Never",
        "serviceAccountName": chosen.service_account_name or context.service_account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 10,
        "securityContext": pod_security.of_pod(chosen),
        "containers": [_container(taskrun, context, chosen)],
        "volumes": [*_volumes(chosen), *scratch, *([] if container else [_credentials(context)])],
        "imagePullSecrets": list(chosen.image_pull_secrets),
        "nodeSelector": chosen.node_selector,
        "tolerations": list(chosen.tolerations),
        "affinity": chosen.affinity,
        "schedulingGates": [{"name": constants.POD_GATE}] if container else None,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(taskrun, context, chosen),
        "spec": {name: value for name, value in spec.items() if value not in (None, [], {})},
    }


def completed(body: dict[str, Any], taskrun: TaskRun) -> dict[str, Any]:
    """The pod of a container task with its command and arguments, which the cached TaskRun does not hold."""
    program = taskrun.spec.container
    main, *others = body["spec"]["containers"]
    arguments = _arguments(taskrun)
    names = {variable["name"] for variable in arguments}
    others_env = [variable for variable in main["env"] if variable["name"] not in names]
    command = {} if program is None else {"command": list(program.command), "args": list(program.args)}
    return body | {
        "spec": body["spec"] | {"containers": [main | command | {"env": [*others_env, *arguments]}, *others]}
    }


def _metadata(taskrun: TaskRun, context: PodContext, chosen: PodFields) -> dict[str, Any]:
    metadata = taskrun.metadata
    logs = {} if context.logs is LogMode.ALL else {constants.LOGS: context.logs.value}
    return {
        "name": pod_name(taskrun),
        "namespace": metadata.namespace,
        "labels": {**chosen.labels, **_labels(taskrun)},
        "annotations": {**chosen.annotations, **logs},
        "ownerReferences": [reference("TaskRun", metadata.name, metadata.uid)],
        "finalizers": [constants.POD_FINALIZER] if taskrun.spec.container is not None else [],
    }


def _labels(taskrun: TaskRun) -> dict[str, str]:
    spec = taskrun.spec
    return {
        constants.LABEL_TASKRUN_UID: taskrun.metadata.uid,
        constants.LABEL_WORKFLOW_UID: spec.owner.uid,
        constants.LABEL_TASK: names.label(spec.task),
        constants.LABEL_WORKFLOW: names.label(spec.owner.name),
        constants.LABEL_INDEX: instance_paths.written(spec.path) or "unmapped",
    }


def _container(taskrun: TaskRun, context: PodContext, chosen: PodFields) -> dict[str, Any]:
    program = taskrun.spec.container
    _, scratch = pod_security.scratch(context.defaults, chosen)
    mounts = [*(mount.to_json() for mount in chosen.volume_mounts), *scratch]
    body: dict[str, Any] = {
        "name": MAIN,
        "image": taskrun.spec.image,
        "envFrom": [source.to_json() for source in chosen.env_from],
        "resources": pod_security.resources(context.defaults, chosen),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": pod_security.of_container(context.defaults, chosen),
    }
    own_env = _chosen(taskrun, chosen)
    if program is not None:
        return body | {
            "command": list(program.command),
            "args": list(program.args),
            "env": [*own_env, *_identity(taskrun), *_arguments(taskrun)],
            "volumeMounts": mounts,
        }
    credentials = {"name": "torpor-credentials", "mountPath": constants.CREDENTIALS, "readOnly": True}
    return body | {
        "command": ["python", "-m", "torpor"],
        "env": [*own_env, *_environment(taskrun, context)],
        "volumeMounts": [*mounts, credentials],
    }


def _volumes(chosen: PodFields) -> list[dict[str, Any]]:
    return [volume.to_json() for volume in chosen.volumes]


def _credentials(context: PodContext) -> dict[str, Any]:
    sources = [*_CREDENTIALS, _ARCHIVE_TOKEN] if context.archive else _CREDENTIALS
    return {"name": "torpor-credentials", "projected": {"sources": sources}}


def _chosen(taskrun: TaskRun, chosen: PodFields) -> list[dict[str, Any]]:
    """The variables of the task, with the values of their expressions."""
    evaluated = {variable.name: variable.to_json() for variable in taskrun.spec.env}
    return [evaluated.get(variable.name) or variable.to_json() for variable in chosen.env]


def _identity(taskrun: TaskRun) -> list[dict[str, Any]]:
    """The identity of the instance, as `context()` returns it to a function."""
    metadata, spec, status = taskrun.metadata, taskrun.spec, taskrun.status
    values = {
        constants.ENV_WORKFLOW: spec.owner.name,
        constants.ENV_TASK: spec.task,
        constants.ENV_INDEX: instance_paths.written(spec.path),
        constants.ENV_TASKRUN: metadata.name,
        constants.ENV_TASKRUN_UID: metadata.uid,
        constants.ENV_NAMESPACE: metadata.namespace,
        constants.ENV_ATTEMPT: str(status.attempt),
        constants.ENV_SEGMENT: str(status.segment),
        constants.ENV_IDEMPOTENCY_KEY: f"{metadata.uid}-{status.segment}",
    }
    return [{"name": name, "value": value} for name, value in values.items()]


def _arguments(taskrun: TaskRun) -> list[dict[str, Any]]:
    """A container's arguments as environment variables: strings unchanged, other values as JSON text.

    Kubernetes expands `$(NAME)` in values. Each `$` is doubled, which it reads as one `$`.
    """
    values = {argument.name: argument.value or "null" for argument in taskrun.spec.arguments}
    return [{"name": name, "value": _plain(text).replace("$", "$$")} for name, text in values.items()]


def _plain(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # another client created the TaskRun
        return text
    return value if isinstance(value, str) else text


def _deferrable(context: PodContext) -> str:
    if not context.served:
        return constants.UNSERVED
    return "true" if context.deferrable else "false"


def _environment(taskrun: TaskRun, context: PodContext) -> list[dict[str, Any]]:
    metadata, status = taskrun.metadata, taskrun.status
    values = {
        constants.ENV_TASKRUN: metadata.name,
        constants.ENV_NAMESPACE: metadata.namespace,
        constants.ENV_TASKRUN_UID: metadata.uid,
        constants.ENV_CREATED: metadata.creation_timestamp,
        constants.ENV_STARTED: status.started_at or "",
        constants.ENV_ATTEMPT: str(status.attempt),
        constants.ENV_SEGMENT: str(status.segment),
        constants.ENV_LAUNCH: str(status.launch),
        constants.ENV_POD_NAME: pod_name(taskrun),
        constants.ENV_DEFERRABLE: _deferrable(context),
    }
    if context.seal_key:
        values[constants.ENV_SEAL_KEY] = context.seal_key
    if context.archive:
        values |= {
            constants.ENV_ARCHIVE_URL: context.archive.url,
            constants.ENV_ARCHIVE_CA: context.archive.certificate,
        }
    env: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in values.items()]
    return [*env, {"name": constants.ENV_POD_UID, "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}]
