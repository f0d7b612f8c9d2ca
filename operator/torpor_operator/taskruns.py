"""TaskRuns as the operator makes them: name, labels, owner, and a spec that never changes."""

from typing import Any

from torpor_api.taskrun import Argument, TaskRun, TaskRunSpec, TriggerCall, WorkflowRef
from torpor_api.workflow import Task, Workflow
from torpor_wire import keys, names

from torpor_operator.owner import reference


def name_of(workflow: Workflow, task: str, index: int) -> str:
    """The name of the TaskRun of one instance."""
    return names.taskrun(workflow.metadata.name, workflow.metadata.uid, task, index)


def is_named_for_its_spec(run: TaskRun) -> bool:
    """Whether the name is the one that its spec leads to: who makes a second TaskRun of an instance needs another."""
    owner = run.spec.workflow
    return run.metadata.name == names.taskrun(owner.name, owner.uid, run.spec.task, run.spec.map_index)


def build(
    workflow: Workflow, task: Task, index: int, *, arguments: tuple[Argument, ...], trigger: TriggerCall | None
) -> dict[str, Any]:
    """The TaskRun of one instance, as JSON. Its status is the schema's default: Scheduled, attempt 1."""
    metadata = workflow.metadata
    spec = TaskRunSpec(
        workflow=WorkflowRef(name=metadata.name, uid=metadata.uid),
        task=task.name,
        map_index=index,
        clears=workflow.status.clears,
        trigger_pool=workflow.spec.trigger_pool,
        image=None if task.trigger else task.image or workflow.spec.image,
        python=task.python,
        container=task.container,
        trigger=trigger,
        arguments=arguments,
        retries=task.retries,
        timeout=task.timeout,
    )
    return {
        "apiVersion": keys.API_VERSION,
        "kind": "TaskRun",
        "metadata": {
            "name": name_of(workflow, task.name, index),
            "namespace": metadata.namespace,
            "labels": {keys.LABEL_WORKFLOW: metadata.name[:63].rstrip("-."), keys.LABEL_TASK: task.name.rstrip("_")},
            "ownerReferences": [reference("Workflow", metadata.name, metadata.uid)],
        },
        "spec": spec.to_json(),
    }
