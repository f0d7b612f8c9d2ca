"""The operator's one settings model, read once by `main` and passed in; tests set durations to a second."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Durations in seconds and bounds; the defaults are what the base manifests run with."""

    task_service_account: str = "torpor-task"
    former_pod_grace: float = 5.0  # how long a pod may linger after its last word before it is deleted
    finished_pod_grace: float = 60.0  # the same once its TaskRun has ended by the pod's own word: nobody waits for it
    image_pull_grace: float = 60.0  # how long an image may fail to arrive before the attempt fails
    triggerer_grace: float = 60.0  # how long a deadline or a cancel is left to the triggerer
    node_grace: float = 30.0  # how long past its deletion a pod may take before its node counts as lost
    max_launches: int = 5  # pods of one segment lost to disruption before the attempt counts as lost
    max_map_size: int = 1024
    status_interval: float = 1.0  # a Workflow's status is written at most this often while it runs
    resync: float = 300.0
    lease_duration: int = 15
    apply_concurrency: int = 16
    reconcilers: int = 8
