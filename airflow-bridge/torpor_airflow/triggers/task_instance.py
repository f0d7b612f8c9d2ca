"""What a trigger sees instead of Airflow's task instance: names, and an error that says what is missing."""

from typing import Any

from torpor.triggers.services import TaskRunRef

ATTRIBUTES = frozenset({"id", "task_id", "run_id", "dag_id", "try_number", "map_index"})
"""What a wait of Torpor has of a task instance."""


class MissingInTorporError(AttributeError):
    """A trigger asked for a part of Airflow that Torpor does not have."""


class TaskInstanceStub:
    """The TaskRun that waits, with the attributes of a task instance that a TaskRun has."""

    map_index = -1

    def __init__(self, taskrun: TaskRunRef, namespace: str) -> None:
        self.id = taskrun.uid
        self.task_id = taskrun.name
        self.run_id = taskrun.uid
        self.dag_id = namespace
        self.try_number = taskrun.attempt

    def __getattr__(self, name: str) -> Any:
        raise MissingInTorporError(
            f"this trigger asks for task_instance.{name}, which needs Airflow's API: a wait of Torpor only has "
            "task_id (the TaskRun), dag_id (the namespace), run_id, try_number and map_index"
        )
