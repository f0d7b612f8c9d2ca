"""The enumerated values of API fields. `state` has the states, and `reason` the reasons."""

from enum import StrEnum


class Rerun(StrEnum):
    """The ticks that a Backfill runs."""

    MISSING = "missing"
    FAILED = "failed"
    ALL = "all"


class Runtime(StrEnum):
    """Where the runtime of a python task comes from (ADR 0037)."""

    INJECT = "Inject"
    IMAGE = "Image"


class ObjectAction(StrEnum):
    """What an object task does with its object (ADR 0075)."""

    CREATE = "create"
    APPLY = "apply"
    PATCH = "patch"
    DELETE = "delete"
    GET = "get"


class DeleteOnEnd(StrEnum):
    """The ends of an object task after which its object is deleted. A timeout counts as a failure and as a cancel."""

    ALWAYS = "Always"
    ON_SUCCESS = "OnSuccess"
    ON_FAILURE = "OnFailure"
    ON_CANCEL = "OnCancel"
    NEVER = "Never"


class ObjectEnd(StrEnum):
    """How an attempt of an object task ended."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    TIMED_OUT = "TimedOut"
    CANCELLED = "Cancelled"


class ProgramResult(StrEnum):
    """What of a container's program is its result, apart from a file (ADR 0060)."""

    STDOUT = "stdout"
    EXIT_CODE = "exitCode"


class MetricType(StrEnum):
    """The kind of a metric, as Prometheus has them."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class WorkflowEvent(StrEnum):
    """What happened to a run."""

    STARTED = "Started"
    SUSPENDED = "Suspended"
    RESUMED = "Resumed"
    CLEARED = "Cleared"
    MARKED = "Marked"
    STOPPED = "Stopped"
    CANCELLED = "Cancelled"
    FINISHING = "Finishing"
    ENDED = "Ended"


class LogMode(StrEnum):
    """The logs of a run that the archive keeps."""

    ALL = "all"
    FAILED = "failed"
    NONE = "none"

    @classmethod
    def parse(cls, value: object) -> "LogMode":
        """Return the mode of a value from an object of any version; `all` for an unknown one."""
        return next((mode for mode in cls if mode == value), cls.ALL)

    def keeps(self, *, failed: bool) -> bool:
        """Return whether the log of a pod or wait that failed, or did not fail, is kept."""
        return self is LogMode.ALL or (self is LogMode.FAILED and failed)


class NotifyEvent(StrEnum):
    """What a notification is about."""

    FAILURE = "failure"
    SUCCESS = "success"
    LATE = "late"
    APPROVAL = "approval"


class NotificationState(StrEnum):
    """What became of a notification."""

    PENDING = "Pending"
    DELIVERED = "Delivered"
    FAILED = "Failed"


class MailTls(StrEnum):
    """How the connection to an SMTP server is encrypted."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


class AccessMode(StrEnum):
    """How pods may mount a volume."""

    READ_WRITE_ONCE = "ReadWriteOnce"
    READ_WRITE_MANY = "ReadWriteMany"
    READ_ONLY_MANY = "ReadOnlyMany"
    READ_WRITE_ONCE_POD = "ReadWriteOncePod"


class ClaimDeletion(StrEnum):
    """When a volume of a run is deleted."""

    AT_END = "AtEnd"
    AFTER_SUCCESS = "AfterSuccess"
    WITH_RUN = "WithRun"
    NEVER = "Never"


class MarkState(StrEnum):
    """The state in which a marked instance ends."""

    SUCCEEDED = "Succeeded"
    SKIPPED = "Skipped"
    FAILED = "Failed"


class ConcurrencyPolicy(StrEnum):
    """What happens to an event while `maxActive` runs of the Schedule are active."""

    ALLOW = "Allow"
    FORBID = "Forbid"
    REPLACE = "Replace"
    QUEUE = "Queue"


class MissedRun(StrEnum):
    """Which missed ticks are run."""

    NONE = "None"
    LAST = "Last"
    ALL = "All"


class DeletionPolicy(StrEnum):
    """What happens to the runs of a Schedule that is deleted."""

    ORPHAN = "Orphan"
    DELETE = "Delete"


class TriggerRule(StrEnum):
    """The outcomes of upstream tasks that let a task run (Airflow's trigger rules)."""

    ALL_SUCCESS = "all_success"
    ALL_FAILED = "all_failed"
    ALL_DONE = "all_done"
    ALL_SKIPPED = "all_skipped"
    ONE_SUCCESS = "one_success"
    ONE_FAILED = "one_failed"
    ONE_DONE = "one_done"
    NONE_FAILED = "none_failed"
    NONE_FAILED_MIN_ONE_SUCCESS = "none_failed_min_one_success"
    NONE_SKIPPED = "none_skipped"
    ALL_DONE_MIN_ONE_SUCCESS = "all_done_min_one_success"
    ALWAYS = "always"


class Hook(StrEnum):
    """Which ends of a run a hook follows."""

    SUCCESS = "success"
    FAILURE = "failure"
    END = "end"


class ParameterType(StrEnum):
    """The JSON type of a parameter. Every integer is also a number."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ARRAY = "array"
    OBJECT = "object"


class LogKind(StrEnum):
    """What wrote a log: a pod, or a wait."""

    POD = "pod"
    WAIT = "wait"


class Compression(StrEnum):
    """How the content of a stored file is compressed."""

    NONE = "none"
    GZIP = "gzip"


class FileKind(StrEnum):
    """What a stored file is (ADR 0064). A folder is a tar stream."""

    FILE = "file"
    FOLDER = "folder"
    FILE_GZIP = "file+gzip"
    FOLDER_GZIP = "folder+gzip"


class TemplateKind(StrEnum):
    """The kind of a template: one of a namespace, or one of the cluster."""

    NAMESPACE = "WorkflowTemplate"
    CLUSTER = "ClusterWorkflowTemplate"


class LabelOperator(StrEnum):
    """How a selector compares the value of a label, as in Kubernetes."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class RunDeletion(StrEnum):
    """What happens to the run that a task started when its TaskRun is deleted (ADR 0073)."""

    DELETE = "Delete"
    RETAIN = "Retain"
