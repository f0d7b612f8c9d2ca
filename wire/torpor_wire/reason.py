"""The reasons of conditions and Events, in CamelCase. docs/reference/reasons.md explains each."""

from enum import StrEnum


class Reason(StrEnum):
    """A machine-readable reason; the message explains it."""

    SUCCEEDED = "Succeeded"
    ERROR = "Error"  # the task's code raised
    MODULE_NOT_FOUND = "ModuleNotFound"
    FUNCTION_NOT_FOUND = "FunctionNotFound"
    ARGUMENTS_INVALID = "ArgumentsInvalid"
    ARGUMENTS_TOO_LARGE = "ArgumentsTooLarge"  # what each instance would be given, times how many there are
    RESULT_INVALID = "ResultInvalid"
    RESULT_NOT_STORED = "ResultNotStored"  # the archive did not take it
    DEFERRAL_INVALID = "DeferralInvalid"
    TIMEOUT = "Timeout"
    LOST = "Lost"  # the pod ended without a word
    NODE_LOST = "NodeLost"  # the pod was to end, and its node does not say that it did
    LAUNCH_FAILED = "LaunchFailed"
    IMAGE_PULL_FAILED = "ImagePullFailed"
    UNSCHEDULABLE = "Unschedulable"  # no node takes its pod
    QUOTA_EXCEEDED = "QuotaExceeded"  # a ResourceQuota of the namespace refuses its pod
    MOUNT_FAILED = "MountFailed"  # a volume of its pod cannot be mounted
    POD_PENDING = "PodPending"  # its pod does not start, for another reason or none that is known
    REPORT_REFUSED = "ReportRefused"
    TRIGGER_UNKNOWN = "TriggerUnknown"
    TRIGGER_INVALID = "TriggerInvalid"
    TRIGGER_FAILED = "TriggerFailed"
    TRIGGER_ENDED = "TriggerEnded"
    ANSWER_TOO_LARGE = "AnswerTooLarge"  # a server sent its trigger more than a triggerer reads
    ADDRESS_DENIED = "AddressDenied"  # its trigger names an address that waits are not connected to
    EVENT_INVALID = "EventInvalid"
    DEFERRAL_TIMEOUT = "DeferralTimeout"
    FAIL_WHEN = "FailWhen"
    FAILED_BY_EVENT = "FailedByEvent"  # the trigger yielded TaskFailedEvent
    SECRET_FORBIDDEN = "SecretForbidden"  # noqa: S105 - a word
    FIRE_FORBIDDEN = "FireForbidden"  # the triggerers of the pool may not fire in the TaskRun's namespace
    FORBIDDEN = "Forbidden"  # the ServiceAccount of its pod has no role to claim it
    SEAL_INVALID = "SealInvalid"
    WAITING = "Waiting"
    QUEUED = "Queued"  # it waits, and the triggerer whose it is has no room to look
    FIRED = "Fired"
    TIMED_OUT = "TimedOut"
    UNOWNED = "Unowned"  # no Workflow has such an instance, so nobody does anything for it
    NAMESPACE_NOT_READY = "NamespaceNotReady"  # the operator may create nothing there
    POOL_UNSERVED = "PoolUnserved"  # it waits, and no triggerer of its pool is there
    LOOP_BLOCKED = "LoopBlocked"  # its trigger kept the triggerer's event loop
    CANCELLED = "Cancelled"
    DELETED = "Deleted"
    CLEARED = "Cleared"
    CLEAR_REFUSED = "ClearRefused"
    UPSTREAM_FAILED = "UpstreamFailed"
    SKIPPED = "Skipped"
    WORKFLOW_INVALID = "WorkflowInvalid"
    EXPRESSION_INVALID = "ExpressionInvalid"
    EXPRESSION_FAILED = "ExpressionFailed"
    EXPRESSION_TOO_EXPENSIVE = "ExpressionTooExpensive"
    EXPAND_INVALID = "ExpandInvalid"
    POOL_UNKNOWN = "PoolUnknown"  # the ConfigMap torpor-pools has no pool of that name
    POOL_FULL = "PoolFull"  # instances wait for a slot of a pool that others hold
    MAX_ACTIVE_REACHED = "MaxActiveReached"  # as many of the task's instances hold a pod as it allows
    PARALLELISM_REACHED = "ParallelismReached"  # as many tasks of the run hold a pod as it allows
    BRANCH_INVALID = "BranchInvalid"
    TASK_FAILED = "TaskFailed"
    ARCHIVE_UNAVAILABLE = "ArchiveUnavailable"  # the run is past its time, and stays until the archive has it
    STATUS_INVALID = "StatusInvalid"
