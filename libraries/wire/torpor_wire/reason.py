"""The reasons of conditions and Events, in CamelCase. docs/reference/reasons.md explains each."""

from enum import StrEnum


class Reason(StrEnum):
    """A machine-readable reason; the message explains it."""

    SUCCEEDED = "Succeeded"
    ERROR = "Error"  # the code of the task raised an exception
    MODULE_NOT_FOUND = "ModuleNotFound"
    FUNCTION_NOT_FOUND = "FunctionNotFound"
    ARGUMENTS_INVALID = "ArgumentsInvalid"
    ARGUMENTS_TOO_LARGE = "ArgumentsTooLarge"  # the arguments of one instance, times the number of instances
    RESULT_INVALID = "ResultInvalid"
    RESULT_NOT_STORED = "ResultNotStored"  # the archive rejected the result or is unavailable
    FILE_MISSING = "FileMissing"  # an upstream task has not stored an input
    FILE_NOT_FETCHED = "FileNotFetched"  # an input could not be fetched into the pod
    DEFERRAL_INVALID = "DeferralInvalid"
    TIMEOUT = "Timeout"
    LOST = "Lost"  # the pod ended without a report
    NODE_LOST = "NodeLost"  # the pod was terminating; its node never confirmed termination
    LAUNCH_FAILED = "LaunchFailed"
    IMAGE_PULL_FAILED = "ImagePullFailed"
    UNSCHEDULABLE = "Unschedulable"  # the pod fits on no node
    QUOTA_EXCEEDED = "QuotaExceeded"  # a ResourceQuota of the namespace rejects the pod
    QUEUE_PENDING = "QueuePending"  # the pod waits for quota of its queue of Kueue
    CLAIM_PENDING = "ClaimPending"  # a PersistentVolumeClaim of the pod is not bound
    MOUNT_FAILED = "MountFailed"  # a volume of the pod cannot be mounted
    POD_PENDING = "PodPending"  # the pod does not start for another or an unknown reason
    REPORT_REFUSED = "ReportRefused"
    TRIGGER_UNKNOWN = "TriggerUnknown"
    TRIGGER_INVALID = "TriggerInvalid"
    TRIGGER_FAILED = "TriggerFailed"
    TRIGGER_ENDED = "TriggerEnded"
    ANSWER_TOO_LARGE = "AnswerTooLarge"  # a server sent the trigger more than the triggerer's limit
    ADDRESS_DENIED = "AddressDenied"  # the triggerer may not connect to the address of the trigger
    EVENT_INVALID = "EventInvalid"
    DEFERRAL_TIMEOUT = "DeferralTimeout"
    FAIL_WHEN = "FailWhen"
    FAILED_BY_EVENT = "FailedByEvent"  # the trigger yielded TaskFailedEvent
    SECRET_FORBIDDEN = "SecretForbidden"  # noqa: S105 - a word
    FIRE_FORBIDDEN = "FireForbidden"  # the triggerers of the pool may not fire in the namespace of the TaskRun
    FORBIDDEN = "Forbidden"  # the ServiceAccount of the pod has no role to claim the TaskRun
    SEAL_INVALID = "SealInvalid"
    WAITING = "Waiting"
    QUEUED = "Queued"  # deferred; its triggerer is at capacity
    FIRED = "Fired"
    TIMED_OUT = "TimedOut"
    UNOWNED = "Unowned"  # no Workflow has this instance, or no Schedule this source, so no controller acts on it
    NAMESPACE_NOT_READY = "NamespaceNotReady"  # the operator may not create pods in the namespace
    NAMESPACE_SERVED_ELSEWHERE = "NamespaceServedElsewhere"  # another installation serves the namespace
    METRIC_INVALID = "MetricInvalid"  # an expression of a metric failed; the run goes on
    POOL_UNSERVED = "PoolUnserved"  # deferred; no triggerer of its pool is running
    LOOP_BLOCKED = "LoopBlocked"  # the trigger blocked the event loop of the triggerer
    CANCELLED = "Cancelled"
    DELETED = "Deleted"
    CLEARED = "Cleared"
    CLEAR_REFUSED = "ClearRefused"
    MARKED = "Marked"  # a user chose the outcome of the instance, which did not run
    MARK_REFUSED = "MarkRefused"
    UPSTREAM_FAILED = "UpstreamFailed"
    SKIPPED = "Skipped"
    WORKFLOW_INVALID = "WorkflowInvalid"
    TEMPLATE_NOT_FOUND = "TemplateNotFound"  # the run waits until its WorkflowTemplate exists
    DEFAULTS_INVALID = "DefaultsInvalid"  # the defaults of tasks of the namespace cannot be read, or are rejected
    RUN_DELETED = "RunDeleted"  # the run that a task started was deleted before its end
    RUN_LIMIT_REACHED = "RunLimitReached"  # the runs of a run are nested too deeply, or too many
    TEMPLATE_INVALID = "TemplateInvalid"  # the WorkflowTemplate cannot be read, or its spec is rejected
    PARAMS_INVALID = "ParamsInvalid"  # the params of the run do not fit its WorkflowTemplate
    EXPRESSION_INVALID = "ExpressionInvalid"
    EXPRESSION_FAILED = "ExpressionFailed"
    EXPRESSION_TOO_EXPENSIVE = "ExpressionTooExpensive"
    EXPAND_INVALID = "ExpandInvalid"
    POOL_UNKNOWN = "PoolUnknown"  # the ConfigMap torpor-pools has no pool of this name
    POOL_FULL = "PoolFull"  # instances wait for a slot of a pool
    MAX_ACTIVE_REACHED = "MaxActiveReached"  # instances wait, because the task has reached its maxActive
    PARALLELISM_REACHED = "ParallelismReached"  # instances wait, because the run has reached its parallelism
    BRANCH_INVALID = "BranchInvalid"
    TASK_FAILED = "TaskFailed"
    ARCHIVED = "Archived"  # the archive has stored the finished run
    ARCHIVE_UNAVAILABLE = "ArchiveUnavailable"  # the archive has not stored the finished run, which stays until then
    STATUS_INVALID = "StatusInvalid"
    UNREADABLE = "Unreadable"  # the operator cannot read the object
    OPERATOR_ENDED = (
        "OperatorEnded"  # an operator process ended while it worked on the object, which waits in quarantine
    )
    SUSPENDED = "Suspended"  # spec.suspend of a Schedule is set
    COMPLETED = "Completed"  # spec.notAfter of a Schedule has passed
    SOURCE_FAILED = "SourceFailed"  # a source of a Schedule cannot wait for events
    RUNS_ACTIVE = "RunsActive"  # an event waits until a run of the Schedule ends
    RUN_STARTED = "RunStarted"
    RUN_QUEUED = "RunQueued"
    RUN_REPLACED = "RunReplaced"  # a run was cancelled, because a newer one replaces it
    RUN_REJECTED = "RunRejected"  # the API server rejects the run of an event
    EVENTS_DELAYED = "EventsDelayed"  # the Schedules of the namespace have more events than the operator takes
    EVENT_SKIPPED = "EventSkipped"  # an event started no run: concurrencyPolicy, `when`, or `within`
    EVENT_FAILED = "EventFailed"  # an event started no run because of an error
    TICKS_MISSED = "TicksMissed"  # ticks were not run because they were too old
    PAUSED_AFTER_FAILURES = "PausedAfterFailures"
    SCHEDULE_NOT_FOUND = "ScheduleNotFound"  # a Backfill waits for its Schedule
    SCHEDULE_INVALID = "ScheduleInvalid"  # a cron expression or a time zone is invalid
    SOURCE_NOT_FOUND = "SourceNotFound"  # the Schedule has no cron source for the Backfill
    TICKS_PASSED = "TicksPassed"  # a Backfill passed over ticks that need no run
    NOTIFICATION_FAILED = "NotificationFailed"  # a notification of the run was not delivered
    NOTIFICATIONS_LIMITED = "NotificationsLimited"  # the run has as many notifications as it may have
    RUNS_FAILED = "RunsFailed"  # runs of a Backfill failed
