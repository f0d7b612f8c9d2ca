"""Builds TaskRuns: name, labels, owner, and the spec, which never changes."""

from typing import Any

from torpor_crds.models.task import Task
from torpor_crds.models.taskrun import OwnerRef, TaskRun, TaskRunSpec
from torpor_crds.models.workflow import Workflow
from torpor_wire import constants, names
from torpor_wire.enums import Runtime
from torpor_wire.instance_paths import Path

from torpor_operator.mapping.instances import InstanceInputs
from torpor_operator.state import marks

_RESULT_OF_RUN = "has(event.result) ? event.result : null"
"""The result of a task with `run`: that of the run, which has one only if its template has spec.result."""


def reference(kind: str, name: str, uid: str) -> dict[str, Any]:
    """The reference to the controlling owner, a Workflow or TaskRun."""
    return {
        "apiVersion": constants.API_VERSION,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def taskrun_name(workflow: Workflow, task: str, index: int, group_path: Path = ()) -> str:
    """The name of the TaskRun of one instance."""
    return names.taskrun(workflow.metadata.name, workflow.metadata.uid, task, index, group_path)


def is_named_for_its_spec(run: TaskRun) -> bool:
    """Whether the name follows from the spec. A second TaskRun of the same instance needs another name."""
    owner, spec = run.spec.owner, run.spec
    return run.metadata.name == names.taskrun(owner.name, owner.uid, spec.task, spec.map_index, spec.group_path)


def build(  # noqa: PLR0913 - what a TaskRun is made from
    workflow: Workflow, task: Task, index: int, *, instance: InstanceInputs, account: str, group_path: Path = ()
) -> dict[str, Any]:
    """The TaskRun of one instance, as JSON. Its status is the default of the schema: Scheduled, attempt 1.

    `account` is the default ServiceAccount of pods.
    """
    spec = _spec(workflow, task, index, instance=instance, account=account, group_path=group_path)
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "TaskRun",
        "metadata": _metadata(workflow, task, taskrun_name(workflow, task.name, index, group_path)),
        "spec": spec.to_json(),
    }


def _metadata(workflow: Workflow, task: Task, name: str) -> dict[str, Any]:
    """Name, labels and owner of a TaskRun."""
    metadata = workflow.metadata
    return {
        "name": name,
        "namespace": metadata.namespace,
        "labels": {
            constants.LABEL_WORKFLOW: names.label(metadata.name),
            constants.LABEL_TASK: names.label(task.name),
        },
        "ownerReferences": [reference("Workflow", metadata.name, metadata.uid)],
    }


def _spec(  # noqa: PLR0913 - what a TaskRun is made from
    workflow: Workflow, task: Task, index: int, *, instance: InstanceInputs, account: str, group_path: Path
) -> TaskRunSpec:
    """The spec of one instance, field by field."""
    metadata = workflow.metadata
    return TaskRunSpec(
        workflow=OwnerRef(name=metadata.name, uid=metadata.uid),
        task=task.name,
        map_index=index,
        group_indexes=group_path or None,
        clears=workflow.status.clears,
        trigger_pool=task.trigger_pool or workflow.spec.trigger_pool,
        pool=task.pool,
        queue=task.queue or workflow.spec.queue if task.python or task.container else None,
        image=_image(workflow, task, instance),
        python=task.python,
        runtime=_runtime(workflow, task),
        source=(task.source or workflow.spec.source) if task.python else None,
        container=instance.program.container,
        env=instance.program.env,
        pod_values=instance.program.pod_values,
        trigger=instance.trigger,
        run=instance.run,
        object_=instance.object_,
        result=task.result or (_RESULT_OF_RUN if task.run is not None and task.run.wait is not False else None),
        fail_when=task.fail_when,
        service_account=_account(task, account),
        arguments=instance.arguments,
        display_name=instance.display_name,
        retries=task.retries.complete(),
        timeout=task.timeout,
        timeout_while_deferred=task.timeout_while_deferred,
        files=instance.files,
        mark=marks.of_instance(
            workflow, task.name, group_path if index == constants.UNMAPPED else (*group_path, index)
        ),
    )


def _image(workflow: Workflow, task: Task, instance: InstanceInputs) -> str | None:
    """The image of the pod, with the values of its expressions; None for a task without a pod."""
    return None if not task.has_pod else instance.program.image or task.image or workflow.spec.image


def _runtime(workflow: Workflow, task: Task) -> Runtime | None:
    """The runtime of a python task, stored only if it differs from the default."""
    chosen = task.runtime or workflow.spec.runtime
    return Runtime.IMAGE if task.python is not None and chosen is Runtime.IMAGE else None


def _account(task: Task, default: str) -> str:
    """The ServiceAccount that reads Secrets for its deferrals, or whose rights an object task has."""
    if task.object_ is not None:
        return task.object_.service_account_name or default
    return (task.pod.service_account_name if task.pod else None) or default
