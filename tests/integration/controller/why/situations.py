"""Situations in which a run does not go on, and the cause that `why` must name in each."""

from collections.abc import Callable
from dataclasses import dataclass

from torpor_views.why import CauseKind

from tests.integration.controller.pods.processes import NODE
from tests.integration.controller.stage import ControllerFixture, python
from tests.integration.controller.why import set_up


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """`words` are in the sentence, `command` is in the command. `late`: set up when its test begins.

    `ref` is empty for a cause of the whole run. `at`: a field of the TaskRun's status that is nearly reached.
    """

    set_up: Callable[[ControllerFixture], tuple[ControllerFixture, str]]
    kind: CauseKind
    ref: str = ""
    words: tuple[str, ...] = ()
    command: str = ""
    late: bool = False
    at: str = ""


SITUATIONS: dict[str, Situation] = {
    "an upstream task goes on": Situation(
        set_up=set_up.submit(set_up.hour(), python("report", "echo", after=["pause"])),
        kind=CauseKind.UPSTREAM_OPEN,
        ref="report",
        words=("task pause [Deferred]", "rule all_success"),
        command="/pause",
    ),
    "a rule is not met": Situation(
        set_up=set_up.submit(
            set_up.hour("a"), set_up.hour("b"), python("either", "echo", after=["a", "b"], rule="one_success")
        ),
        kind=CauseKind.UPSTREAM_OPEN,
        ref="either",
        words=("one upstream task succeeds", "task a [Deferred]", "task b [Deferred]"),
    ),
    "an upstream task failed": Situation(
        set_up=set_up.upstream_failed,
        kind=CauseKind.UPSTREAM_FAILED,
        ref="report",
        words=("upstream task load failed", "disk full"),
        command="torpor retry",
    ),
    "the task itself failed": Situation(
        set_up=set_up.submit(python("load", "failed", args={"message": "disk full"}), set_up.hour()),
        kind=CauseKind.FAILED,
        ref="load",
        words=("failed", "disk full"),
        command="torpor logs",
    ),
    "a hook waits for the end": Situation(
        set_up=set_up.submit(set_up.hour(), python("tell", "echo", hook="failure")),
        kind=CauseKind.HOOK,
        ref="tell",
        words=("hook", "run fails"),
    ),
    "a pool is full": Situation(
        set_up=set_up.pool_full,
        kind=CauseKind.POOL_FULL,
        ref="tune",
        words=("pool gpu", "its only slot is held by holder/train"),
        command="configmap torpor-pools",
    ),
    "a pool is unknown": Situation(
        set_up=set_up.submit(python("tune", "echo", pool="tpu")),
        kind=CauseKind.POOL_UNKNOWN,
        ref="tune",
        words=("pool tpu", "ConfigMap torpor-pools"),
        command="torpor-pools",
    ),
    "maxActive is reached": Situation(
        set_up=lambda stage: (stage, set_up.many(stage, maxActive=1)),
        kind=CauseKind.MAX_ACTIVE,
        ref="load",
        words=("maxActive 1", "held by load/0"),
    ),
    "parallelism is reached": Situation(
        set_up=lambda stage: (stage, set_up.many(stage, parallelism=2)),
        kind=CauseKind.PARALLELISM,
        ref="load",
        words=("spec.parallelism 2", "held by load/0 and load/1"),
        command='{"spec":{"parallelism":4}}',
    ),
    "a quota rejects the pod": Situation(
        set_up=set_up.quota,
        kind=CauseKind.QUOTA,
        ref="load",
        words=("exceeded quota: small",),
        command="describe quota",
    ),
    "the image cannot be pulled": Situation(
        set_up=set_up.image_pull,
        kind=CauseKind.IMAGE_PULL,
        ref="load",
        words=("image tests cannot be pulled", "ImagePullBackOff", "a TaskRun keeps its image"),
        command="torpor retry",
        late=True,
    ),
    "no node fits the pod": Situation(
        set_up=set_up.unschedulable,
        kind=CauseKind.UNSCHEDULABLE,
        ref="load",
        words=("no node fits", "Insufficient memory", "a pod that exists does not change"),
        command="torpor retry",
    ),
    "a volume cannot be mounted": Situation(
        set_up=set_up.mount,
        kind=CauseKind.MOUNT,
        ref="load",
        words=("FailedMount", 'configmap "settings" not found'),
        command="describe pod",
    ),
    "the node of the pod is lost": Situation(
        set_up=set_up.node_lost,
        kind=CauseKind.NODE_LOST,
        ref="load",
        words=(f"node {NODE}", "repair"),
        command=f"kubectl delete node {NODE}",
    ),
    "an approval is due": Situation(
        set_up=set_up.approval,
        kind=CauseKind.APPROVAL,
        ref="sign_off",
        words=("Load 3 TB?", "ann or members of sre"),
        command="torpor approve",
    ),
    "a wait is queued": Situation(
        set_up=set_up.queued,
        kind=CauseKind.QUEUED,
        ref="later",
        words=("1 wait runs on this replica", "more replicas or capacity"),
        command=f"torpor.dev/trigger-pool={set_up.NARROW}",
    ),
    "no triggerer serves the pool": Situation(
        set_up=set_up.submit(set_up.hour(), triggerPool="unserved"),
        kind=CauseKind.POOL_UNSERVED,
        ref="pause",
        words=("no triggerer is running for pool unserved",),
        command="torpor.dev/trigger-pool=unserved",
    ),
    "the timeout of a wait is near": Situation(
        set_up=set_up.submit(
            {"name": "pause", "trigger": {"class": "duration", "kwargs": {"duration": "2h"}, "timeout": "1h"}}
        ),
        kind=CauseKind.TIMEOUT_NEAR,
        ref="pause",
        words=("5m left", "times out after 1h"),
        at="deadline",
    ),
    "the run is suspended": Situation(
        set_up=set_up.suspended, kind=CauseKind.SUSPENDED, words=("is suspended",), command="torpor resume"
    ),
    "the namespace is not set up": Situation(
        set_up=set_up.closed_namespace,
        kind=CauseKind.NAMESPACE_NOT_READY,
        words=(f"namespace {set_up.CLOSED_NAMESPACE} is not set up",),
        command="create rolebinding torpor-operator",
    ),
    "an attempt failed and is retried": Situation(
        set_up=set_up.submit(python("load", "failed", args={"message": "flaky"}, retries={"limit": 3, "delay": "1h"})),
        kind=CauseKind.BACKING_OFF,
        ref="load",
        words=("attempt 2 of 4 starts in", "flaky"),
        command="--attempt 1",
    ),
    "the Workflow is invalid": Situation(
        set_up=set_up.submit(python("a", "echo", after=["b"]), python("b", "echo", after=["a"])),
        kind=CauseKind.WORKFLOW_INVALID,
        words=("the tasks form a cycle",),
        command="torpor lint",
    ),
    "a user deleted an upstream TaskRun": Situation(
        set_up=set_up.deleted_upstream,
        kind=CauseKind.UPSTREAM_FAILED,
        ref="report",
        words=("upstream task load failed", "deleted"),
        command="torpor retry",
    ),
    "only hooks are left": Situation(
        set_up=set_up.submit(python("load", "echo"), set_up.hour("tell", hook="end")),
        kind=CauseKind.FINISHING,
        words=("runs its hooks: tell",),
    ),
    "a cancelled wait has not ended": Situation(
        set_up=set_up.cancel_requested,
        kind=CauseKind.CANCELLING,
        words=("is being cancelled", "pause"),
        late=True,
    ),
    "the pod may not claim its TaskRun": Situation(
        set_up=set_up.forbidden,
        kind=CauseKind.FAILED,
        ref="load",
        words=("ServiceAccount powerless may not claim",),
        command="create rolebinding torpor-task-powerless",
    ),
}
"""Those that need nothing but the stage. test_why.py has three more: a wait with looks, no archive, and no operator."""
