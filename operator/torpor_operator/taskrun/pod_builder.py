"""Builds the pod of a task: one container, with only the credentials that the task uses.

The pod of a python task has a projected token of one hour, since it claims and reports by itself. The pod of a
container task has none for the API server, unless it asks for one: the operator claims for it before it is scheduled
and reads its outcome from the pod, which a finalizer keeps. Where its result may be large it has one for the archive.
"""

from collections.abc import Mapping
from typing import Any

from torpor_crds.models.pod_fields import PodFields
from torpor_crds.models.taskrun import TaskRun
from torpor_expressions.errors import ExpressionError
from torpor_wire import constants, instance_paths, names, trace_ids
from torpor_wire.enums import LogMode
from torpor_wire.runtime_variable import RuntimeVariable

from torpor_operator import pod_security
from torpor_operator.expressions import pod_texts
from torpor_operator.model.pod import CREDENTIALS_VOLUME, MAIN, pod_name
from torpor_operator.model.snapshot import PodContext
from torpor_operator.taskrun import (
    account_token,
    container_environment,
    file_volumes,
    other_containers,
    program_words,
    runtime_volume,
    step_containers,
)
from torpor_operator.taskrun.builder import reference
from torpor_operator.taskrun.runtime_volume import PodParts

_TOKEN_SECONDS = 3600
_CREDENTIALS: list[dict[str, Any]] = [
    {"serviceAccountToken": {"path": "token", "expirationSeconds": _TOKEN_SECONDS}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
]
_IMAGE_COMMAND = ["python", "-m", "torpor"]
_UNBUFFERED = ({"name": "PYTHONUNBUFFERED", "value": "1"},)
"""As the worker image sets it: the log keeps the last lines of a task that is killed."""
_UNSET = PodFields()


def build(taskrun: TaskRun, context: PodContext, chosen: PodFields | None = None) -> dict[str, Any]:
    """The pod of the TaskRun's present segment, as JSON; `chosen` are the fields that the task sets."""
    chosen = _with_values(chosen or _UNSET, taskrun)
    container = taskrun.spec.container is not None
    scratch, _ = pod_security.scratch(context.defaults, chosen)
    runtime, source = _runtime(taskrun, context, chosen), runtime_volume.source(taskrun)
    files = file_volumes.parts(taskrun, context, chosen)
    others = other_containers.build(context, chosen)
    spec = {
        "restartPolicy": "Never",
        "serviceAccountName": chosen.service_account_name or context.service_account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 10,
        "securityContext": pod_security.of_pod(chosen),
        "initContainers": [*runtime.init_containers, *files.init_containers, *others.init_containers],
        "containers": [_container(taskrun, context, chosen, runtime, files)],
        "volumes": [
            *_volumes(chosen, context.claims),
            *scratch,
            *_credentials(taskrun, context),
            *account_token.volumes(chosen),
            *runtime.volumes,
            *source.volumes,
            *files.volumes,
            *others.volumes,
        ],
        "imagePullSecrets": list(chosen.image_pull_secrets),
        "nodeSelector": chosen.node_selector,
        "tolerations": list(chosen.tolerations),
        "affinity": chosen.affinity,
        "topologySpreadConstraints": list(chosen.topology_spread_constraints),
        "priorityClassName": chosen.priority_class_name,
        "runtimeClassName": chosen.runtime_class_name,
        "dnsPolicy": chosen.dns_policy,
        "dnsConfig": chosen.dns_config,
        "hostAliases": list(chosen.host_aliases),
        "resourceClaims": list(chosen.resource_claims),
        "schedulingGates": [{"name": constants.POD_GATE}] if container else None,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(taskrun, context, chosen),
        "spec": _without_empty(spec),
    }


def _with_values(chosen: PodFields, taskrun: TaskRun) -> PodFields:
    """The fields with the values of their expressions, which were valid when the TaskRun was created."""
    evaluated = pod_texts.applied(chosen, taskrun.spec.pod_values)
    return chosen if isinstance(evaluated, ExpressionError) else evaluated


def completed(body: dict[str, Any], taskrun: TaskRun, now: float, nonce: str) -> dict[str, Any]:
    """The pod of a container task with its command, arguments, event and state, which the cached TaskRun lacks.

    A program that writes outcomes gets `nonce`, which is random. The annotation tells it to every later operator.
    """
    program, metadata, spec = taskrun.spec.container, body["metadata"], body["spec"]
    main, *others = spec["containers"]
    if program is None:
        return body
    added = [*container_environment.of_segment(taskrun, now), *container_environment.arguments(taskrun)]
    stores = file_volumes.stores_files(taskrun)
    own = [variable.to_json() for variable in program.main.env]
    if needs_nonce := program.writes_documents or stores:
        metadata = metadata | {"annotations": metadata.get("annotations", {}) | {constants.OUTCOME_NONCE: nonce}}
    secret = _variables({constants.ENV_OUTCOME_NONCE: nonce}) if needs_nonce else []
    if program.steps and program.main.is_wrapped:
        secret += step_containers.wrapper_variables(program.steps[-1].name)
    command = program_words.command(program.main, MAIN, stores_files=stores)
    words = {"command": command, "args": list(program.main.args)}
    containers = [main | words | {"env": _last_of_each([*main["env"], *own, *added, *secret])}, *others]
    steps = step_containers.build(main, program, _last_of_each([*main["env"], *added]), nonce)
    before = step_containers.with_scripts(spec.get("initContainers", []), step_containers.scripts(program, MAIN))
    parts = {"initContainers": [*before, *steps]} if before or steps else {}
    return body | {"metadata": metadata, "spec": spec | parts | {"containers": containers}}


def _last_of_each(variables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The variables without those that a later one of the same name replaces."""
    last = {variable["name"]: number for number, variable in enumerate(variables)}
    return [variable for number, variable in enumerate(variables) if last[variable["name"]] == number]


def _metadata(taskrun: TaskRun, context: PodContext, chosen: PodFields) -> dict[str, Any]:
    metadata = taskrun.metadata
    logs = {} if context.logs is LogMode.ALL else {constants.LOGS: context.logs.value}
    if others := _others(taskrun, chosen):
        logs |= {constants.CONTAINERS: ",".join(others)}
    fields = {
        "name": pod_name(taskrun),
        "namespace": metadata.namespace,
        "labels": {**chosen.labels, **_labels(taskrun)},
        "annotations": {**chosen.annotations, **logs},
        "ownerReferences": [reference("TaskRun", metadata.name, metadata.uid)],
        "finalizers": [constants.POD_FINALIZER] if taskrun.spec.container is not None else [],
    }
    return _without_empty(fields)


def _others(taskrun: TaskRun, chosen: PodFields) -> list[str]:
    """The names of the author's containers beside that of the task."""
    steps = taskrun.spec.container.earlier_steps if taskrun.spec.container else ()
    beside = [container.name for container in (*chosen.init_containers, *chosen.sidecars)]
    return [*beside, *(step.name for step in steps)]


def _labels(taskrun: TaskRun) -> dict[str, str]:
    spec = taskrun.spec
    queue = {} if spec.queue is None else {constants.QUEUE_LABEL: spec.queue}
    return {
        **queue,
        constants.LABEL_TASKRUN_UID: taskrun.metadata.uid,
        constants.LABEL_WORKFLOW_UID: spec.owner.uid,
        constants.LABEL_TASK: names.label(spec.task),
        constants.LABEL_WORKFLOW: names.label(spec.owner.name),
        constants.LABEL_INDEX: instance_paths.written(spec.path) or "unmapped",
    }


def _container(
    taskrun: TaskRun, context: PodContext, chosen: PodFields, runtime: PodParts, files: PodParts
) -> dict[str, Any]:
    """The container of the task. `runtime` and `files` are what these add to the pod."""
    program, injected = taskrun.spec.container, runtime_volume.is_injected(taskrun)
    _, scratch = pod_security.scratch(context.defaults, chosen)
    own = [mount.to_json() for mount in chosen.volume_mounts]
    mounts = [*own, *scratch, *files.mounts, *account_token.mounts(chosen)]
    body: dict[str, Any] = _without_empty(
        {
            "name": MAIN,
            "image": taskrun.spec.image,
            "workingDir": chosen.working_dir,
            "envFrom": [source.to_json() for source in chosen.env_from],
            "resources": pod_security.resources(context.defaults, chosen),
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "securityContext": pod_security.of_container(
                context.defaults, chosen, of_image=program is None and not injected
            ),
        }
    )
    own_env = [*_traceparent(taskrun, context, chosen), *_chosen(taskrun, chosen)]
    source = runtime_volume.source(taskrun)
    credentials = {"name": CREDENTIALS_VOLUME, "mountPath": constants.CREDENTIALS, "readOnly": True}
    if program is not None:
        environment = [
            *container_environment.identity(taskrun),
            *file_volumes.wrapper_variables(taskrun),
            *container_environment.arguments(taskrun),
        ]
        return body | {
            "command": program_words.command(program.main, MAIN, stores_files=file_volumes.stores_files(taskrun)),
            "args": list(program.main.args),
            "env": [*own_env, *(_variables(_archive(context)) if _needs_archive(taskrun) else ()), *environment],
            "volumeMounts": [*mounts, *([credentials] if _credentials(taskrun, context) else ()), *runtime.mounts],
        }
    return body | {
        "command": runtime_volume.COMMAND if injected else _IMAGE_COMMAND,
        "env": [*(_UNBUFFERED if injected else ()), *own_env, *_environment(taskrun, context), *source.env],
        "volumeMounts": [*mounts, credentials, *runtime.mounts, *source.mounts],
    }


def _needs_archive(taskrun: TaskRun) -> bool:
    """Whether the container has a token for the archive."""
    program = taskrun.spec.container
    return program is None or program.needs_archive or file_volumes.stores_files(taskrun)


def _runtime(taskrun: TaskRun, context: PodContext, chosen: PodFields) -> PodParts:
    if (program := taskrun.spec.container) is not None:
        executable = program.needs_tool or file_volumes.stores_files(taskrun)
        return runtime_volume.runtime(context, chosen, executable=True) if executable else PodParts()
    return runtime_volume.runtime(context, chosen) if runtime_volume.is_injected(taskrun) else PodParts()


def _volumes(chosen: PodFields, claims: Mapping[str, str]) -> list[dict[str, Any]]:
    """The volumes of the author, and those of the run that a container mounts."""
    own = [volume.to_json() for volume in chosen.volumes]
    others = (container.volume_mounts for container in (*chosen.init_containers, *chosen.sidecars))
    mounted = {mount.name for mounts in (chosen.volume_mounts, *others) for mount in mounts}
    names = mounted - {volume["name"] for volume in own}
    return own + [
        {"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in claims.items() if name in names
    ]


def _credentials(taskrun: TaskRun, context: PodContext) -> list[dict[str, Any]]:
    """The volume of the credentials; none if the pod has none."""
    program = taskrun.spec.container
    of_archive = [runtime_volume.ARCHIVE_TOKEN] if context.archive and _needs_archive(taskrun) else []
    sources = [*(_CREDENTIALS if program is None else ()), *of_archive]
    return [{"name": CREDENTIALS_VOLUME, "projected": {"sources": sources}}] if sources else []


def _chosen(taskrun: TaskRun, chosen: PodFields) -> list[dict[str, Any]]:
    """The variables of the task, with the values of their expressions."""
    evaluated = {variable.name: variable.to_json() for variable in taskrun.spec.env}
    return [evaluated.get(variable.name) or variable.to_json() for variable in chosen.env]


def _traceparent(taskrun: TaskRun, context: PodContext, chosen: PodFields) -> list[dict[str, Any]]:
    """The parent of the spans of the task's own code, unless its author sets the variable."""
    if not context.defaults.traced or any(variable.name == trace_ids.TRACEPARENT for variable in chosen.env):
        return []
    uid, status = taskrun.spec.owner.uid, taskrun.status
    value = trace_ids.traceparent(uid, taskrun.metadata.uid, status.attempt, status.segment, status.launch)
    return _variables({trace_ids.TRACEPARENT: value})


def _deferrable(context: PodContext) -> dict[str, str]:
    if not context.served:
        return {constants.ENV_DEFERRABLE: constants.UNSERVED}
    return {} if context.deferrable else {constants.ENV_DEFERRABLE: "false"}


def _environment(taskrun: TaskRun, context: PodContext) -> list[dict[str, Any]]:
    metadata, status = taskrun.metadata, taskrun.status
    variable = RuntimeVariable(
        namespace=metadata.namespace,
        taskrun=metadata.name,
        uid=metadata.uid,
        created=metadata.creation_timestamp,
        attempt=status.attempt,
        segment=status.segment,
        launch=status.launch,
        started=status.started_at,
        seal_key=context.seal_key or None,
        archive_url=context.archive.url if context.archive else None,
        archive_namespace=context.system_namespace if context.archive else None,
    )
    return _variables(
        {constants.ENV_RUNTIME: variable.text()} | _deferrable(context) | file_volumes.python_variables(taskrun)
    )


def _archive(context: PodContext) -> dict[str, str]:
    """The variables by which the tools of a container find the archive; none without one."""
    if context.archive is None:
        return {}
    return {constants.ENV_ARCHIVE_URL: context.archive.url, constants.ENV_ARCHIVE_CA: context.archive.certificate}


def _without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, [], {})}


def _variables(values: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "value": value} for name, value in values.items()]
