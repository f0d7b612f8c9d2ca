"""The operator's one settings model, read once by `main` and passed in; tests set durations to a second.

Each field is a flag of the command line (`--node-grace`), and what stands beside its type is the flag's help.
"""

from dataclasses import dataclass
from typing import Annotated

from torpor_operator.pod_security import PodDefaults


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Durations in seconds and bounds; the defaults are what the base manifests run with."""

    task_service_account: Annotated[str, "the ServiceAccount of task pods that name none"] = "torpor-task"
    deferrable: Annotated[bool, "whether sensors give their pod back while they wait, where the run does not say"] = (
        True
    )
    task_group: Annotated[int, "the group that task pods run as, where the task does not say; 0: the image's"] = 65532
    task_read_only_root: Annotated[bool, "whether the root file system of task pods is read-only, where it may be"] = (
        True
    )
    task_tmp_size: Annotated[str, "the size of the emptyDir at /tmp of task pods; empty: no limit"] = "1Gi"
    task_memory_limit: Annotated[str, "the memory limit of task pods that say nothing of memory; empty: none"] = "1Gi"
    task_cpu_limit: Annotated[str, "the CPU limit of task pods that say nothing of CPU; empty: none"] = ""
    former_pod_grace: Annotated[float, "how long a pod may linger after its last word before it is deleted"] = 5.0
    finished_pod_grace: Annotated[float, "the same once its TaskRun has ended by the pod's own word"] = 60.0
    start_grace: Annotated[float, "how long a pod may take to start before its TaskRun says what keeps it"] = 5.0
    pods_ttl: Annotated[float, "how long pods of tasks are kept after their end, where the run does not say"] = 86_400.0
    image_pull_grace: Annotated[float, "how long an image may fail to arrive before the attempt fails"] = 60.0
    triggerer_grace: Annotated[float, "how long a deadline or a cancel is left to the triggerer"] = 60.0
    unserved_grace: Annotated[float, "how long a wait may go unserved before it says that its pool is"] = 30.0
    stray_grace: Annotated[float, "how long a TaskRun may be of no Workflow until it says so, or twice that"] = 30.0
    node_grace: Annotated[float, "how long past its deletion a pod may take before its node counts as lost"] = 30.0
    archive_grace: Annotated[float, "how long until an archive that did not take a run is asked again"] = 30.0
    max_launches: Annotated[int, "pods of one segment lost to disruption before the attempt counts as lost"] = 5
    max_map_size: Annotated[int, "how many instances `expand` may make of one task, where the run does not say"] = 1024
    map_size_limit: Annotated[int, "how many a run may ask for by spec.maxMapSize"] = 20_000
    batch: Annotated[int, "how many TaskRuns and how many pods of a Workflow one plan creates"] = 500
    status_interval: Annotated[float, "a Workflow's status is written at most this often while it runs"] = 1.0
    resync: Annotated[float, "how often every Workflow is looked at though nothing seems to have changed"] = 300.0
    lease_duration: Annotated[int, "seconds until a silent leader is replaced"] = 15
    apply_concurrency: Annotated[int, "how many writes are under way at a time"] = 16
    workflow_concurrency: Annotated[int, "how many of them are of one Workflow"] = 6
    reconcilers: Annotated[int, "how many Workflows are worked on at a time"] = 8

    def pod_defaults(self) -> PodDefaults:
        """What task pods are like where their authors do not say."""
        limits = {"cpu": self.task_cpu_limit, "memory": self.task_memory_limit}
        return PodDefaults(
            group=self.task_group,
            read_only=self.task_read_only_root,
            scratch=self.task_tmp_size,
            limits={name: limit for name, limit in limits.items() if limit},
        )
