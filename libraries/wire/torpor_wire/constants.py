"""Names and limits of API version v1alpha1: group, labels, annotations, sizes, environment of a task pod.

They are part of the API: a change needs a new API version or a migration.
"""

GROUP = "torpor.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"

LABEL_WORKFLOW = f"{GROUP}/workflow"
LABEL_WORKFLOW_UID = f"{GROUP}/workflow-uid"
"""On pods: the uid of the run, under which the archive keeps the log."""
LABEL_TASK = f"{GROUP}/task"
LABEL_INDEX = f"{GROUP}/index"
LABEL_TASKRUN_UID = f"{GROUP}/taskrun-uid"
LABEL_OBJECT_OF = f"{GROUP}/object-of"
"""On objects that an object task created: the uid of its TaskRun (ADR 0075)."""
OBJECT_ATTEMPT = f"{GROUP}/attempt"
"""Annotation of such an object: the attempt of the TaskRun."""
ACCOUNT_TOKENS = f"{GROUP}/tokens"
"""Annotation of a ServiceAccount: `allowed` lets tasks act with its rights, by an object task or a token in the pod."""
TOKENS_ALLOWED = "allowed"
MANIFEST_MAX = 16 * 1024
"""Bytes of the manifest of an object task, as JSON on its TaskRun."""
OBJECT_TASK = "object_task"
"""The class of the trigger that acts for an object task."""
LABEL_POOL = f"{GROUP}/trigger-pool"
LABEL_SCHEDULE = f"{GROUP}/schedule"
"""On Workflows and TaskRuns: the Schedule that they belong to."""
LABEL_PARENT = f"{GROUP}/parent"
"""On Workflows: the Workflow whose task started the run."""
SUSPENDED_BY_PARENT = f"{GROUP}/suspended-by-parent"
"""Annotation of a Workflow that was suspended with the run that contains it, and goes on with it."""
RUN_DEPTH_MAX = 5
"""Runs that may contain a run. A template that starts itself ends there."""
RUN_NAME_MAX = 200
"""Characters of a name that an author chooses for the run of a task. A later attempt appends its number."""
CHILD_RUNS_MAX = 10_000
"""Runs that one outermost run may have started, directly and indirectly, and that exist."""
BODIES_MAX = 50
"""Bodies of one spec, in `spec.bodies`."""
BODY_TASKS_BYTES_MAX = 512 * 1024
"""Bytes of the tasks of a run with the fields of their bodies, as JSON."""
BODY_TEMPLATES_MAX = 10
"""Templates whose bodies one run may use."""
LABEL_BACKFILL = f"{GROUP}/backfill"
LABEL_QUEUED = f"{GROUP}/queued"
"""On Workflows: a run that waits until a former run of its Schedule has ended."""
SEAL_DATA = "publicKey"
"""Key in the ConfigMap of a pool: its public key for sealed values, in base64."""
LOGS = f"{GROUP}/logs"
"""Annotation of pods: `spec.logs` of the Workflow, unless it is `all`."""
FINALIZER = f"{GROUP}/cancel-first"
POD_FINALIZER = f"{GROUP}/outcome"
POD_GATE = f"{GROUP}/claim"
RUN_NOW = f"{GROUP}/run"
"""Annotation of a Schedule: start a run now. The value is any new text, or a JSON object with `id` and `params`."""
CLEAR = f"{GROUP}/clear"
CLEAR_MAX = 4096
"""Characters of a clear request, which is copied to the status."""
MARK = f"{GROUP}/mark"
"""Annotation of a Workflow: `STATE INSTANCES because TEXT` ends instances in a state without running them."""
MARK_RESULT = f"{GROUP}/mark-result"
"""The result of instances that are marked as succeeded, as JSON text."""
CHANGED_BY = f"{GROUP}/changed-by"
"""`GENERATION USER` of the last change of the spec, or `clear USER`, or `mark USER`. The policy checks the user."""
APPROVAL = f"{GROUP}/approval"
APPROVAL_BY = f"{GROUP}/approval-by"
APPROVAL_FOR = f"{GROUP}/approval-for"
APPROVAL_NOTE = f"{GROUP}/approval-note"
APPROVAL_FIELDS = f"{GROUP}/approval-fields"

QUARANTINE = f"{GROUP}/quarantine"
TRACES_UNTIL = f"{GROUP}/traces-until"
"""Annotation of the Lease of the operator: the objects at which an operator process ended."""

FIELD_MANAGER = "torpor"
"""The field manager of all status writes, by which the policy finds the time at which the API server stored them."""
CLOCK_SLACK_S = 600
"""Seconds by which a time that a pod or a triggerer writes may differ from the API server's clock; enforced by policy.
"""

DEFAULT_POOL = "default"
POD_SECURITY_LABEL = "pod-security.kubernetes.io/enforce"
DEFAULTS_ANNOTATION = "torpor.dev/defaults"
"""Of a namespace: defaults of the tasks of all its runs, as JSON."""
DEFAULTS_MAX = 16 * 1024
POOLS_CONFIG = "torpor-pools"
"""The ConfigMap of a namespace with its slot pools: names and numbers of slots."""
TASK_ACCOUNT = "torpor-task"
"""The ServiceAccount of a TaskRun that names none."""
SHARDS = 256
UNMAPPED = -1

NAME_MAX = 50
MAP_MAX = 100_000
"""Instances of one task. A status with more was modified outside Torpor."""
RANGES_MAX = 256 * 1024
"""Characters of a set of instances. 20,000 instances in groups of different sizes need 88,000."""
GROUP_DEPTH = 3
"""Levels of nested mapped groups."""
RESULT_MAX = 8 * 1024
"""Bytes of JSON on a TaskRun. Larger results go to the archive."""
STORED_KEYS_MAX = 16 * 1024
"""Bytes of the keys of an archived object. An object with more cannot be mapped over."""
EVENT_MAX = 4 * 1024
EVENT_STORED_MAX = 1024 * 1024
"""Bytes of an event in the archive, which the triggerer holds in memory."""
KWARGS_MAX = 4 * 1024
CURSOR_MAX = 1024
"""Characters of a cursor: the position of a Schedule's source, which a trigger puts into its event."""
NEXT_MAX = 4 * 1024
MESSAGE_MAX = 1024
LOG_MAX = 4 * 1024
EXCEPTION_MAX = 253
METRICS_MAX = 10
METRIC_LABELS_MAX = 5
HISTORY_MAX = 32
"""Entries of `status.history`."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""The label of a pod with its LocalQueue of Kueue (ADR 0070)."""
QUEUE_GATE = "kueue.x-k8s.io/admission"
"""The scheduling gate of Kueue, which it removes from a pod that it admits."""
NOTIFICATIONS_MAX = 40
"""Notifications of one run, and entries of `status.notifications`."""
HISTORY_KEPT = 24
"""Entries that remain when older transitions are folded into the first one."""
ARGUMENT_INLINE_MAX = 1024
ARGUMENTS_MAX = 64 * 1024
"""Bytes of the arguments and the command of one TaskRun."""
ARGUMENTS_TOTAL_MAX = 8 * 1024**2
"""Bytes of the arguments of all instances of a task, unless ARGUMENTS_FLOOR allows more."""
ARGUMENTS_FLOOR = 2 * 1024
"""Bytes that each instance may have regardless of their number: about the size of the rest of a TaskRun."""
MISSING_MAX = 1024
"""Characters of the list of missing results of a mapped task."""
FILES_MAX = 16
"""Inputs of a task, and outputs: the descriptions of all outputs fit into a termination message."""
FILE_ORIGINS_MAX = 64
"""Outputs of a mapped task that one input collects."""
FILE_TEXT_MAX = 4096
EXPRESSIONS_MAX = 4_000
"""Expressions of a Workflow, counted in all fields: eight for each of 500 tasks."""
EXPRESSIONS_BYTES_MAX = 256 * 1024
"""Bytes of all expressions of a Workflow. The operator parses them in about 4 s of CPU time, in steps."""

EXIT_FORBIDDEN = 77
"""Exit code of a task pod whose ServiceAccount may not claim (EX_NOPERM of sysexits.h)."""
EXIT_UNSUPPORTED = 78
"""Exit code of a task pod whose image cannot run the runtime, such as an old Python (EX_CONFIG of sysexits.h)."""

ENV_RUNTIME = "TORPOR_RUNTIME"
"""For python tasks: torpor_wire.runtime_variable."""
ENV_TASKRUN = "TORPOR_TASKRUN"
"""For containers, as those that follow."""
ENV_NAMESPACE = "TORPOR_NAMESPACE"
ENV_TASKRUN_UID = "TORPOR_TASKRUN_UID"
ENV_ATTEMPT = "TORPOR_ATTEMPT"
ENV_SEGMENT = "TORPOR_SEGMENT"
ENV_LAUNCH = "TORPOR_LAUNCH"
ENV_WORKFLOW = "TORPOR_WORKFLOW"
ENV_TASK = "TORPOR_TASK"
ENV_INDEX = "TORPOR_INDEX"
"""For containers: the indexes in groups and of the task, such as `0.1`; empty if the task is not mapped."""
ENV_IDEMPOTENCY_KEY = "TORPOR_IDEMPOTENCY_KEY"
PROTOCOL = 1
"""Version of the protocol of containers: their environment and their outcome document (ADR 0038)."""
ENV_PROTOCOL = "TORPOR_PROTOCOL"
"""For containers that write outcomes."""
ENV_OUTCOME = "TORPOR_OUTCOME"
"""For containers that write outcomes: the file of the outcome document."""
ENV_OUTCOME_MAX = "TORPOR_OUTCOME_MAX"
"""Most bytes of the outcome in a pod of several containers; empty for the limit of a single one."""
ENV_STEP = "TORPOR_STEP"
"""For the wrapper of a step: its name, under which the archive stores its result."""
ENV_OUTCOME_NONCE = "TORPOR_OUTCOME_NONCE"
"""For containers that write outcomes: a random text of the pod, which each of its documents contains (ADR 0049)."""
ENV_COPY = "TORPOR_COPY"
"""For `torpor-tool copy`: `tool` if the pod uses only that program of the runtime folder; unset: all of it."""
ENV_SCRIPT = "TORPOR_SCRIPT_"
"""For `torpor-tool copy`: before the name of a container, the text of its script (ADR 0060)."""
CONTAINERS = "torpor.dev/containers"
"""Annotation of the pod: the names of its containers beside that of the task, whose logs the archive keeps."""
OUTCOME_MAX = "torpor.dev/outcome-max"
"""Annotation of a pod of several containers: most bytes of an outcome, a share of what the pod may report."""
OUTCOME_NONCE = "torpor.dev/outcome-nonce"
"""Annotation of the pod: its nonce, by which the operator recognizes its documents."""
TERMINATION_LOG = "/dev/termination-log"
ENV_EVENT = "TORPOR_EVENT"
"""For containers: the event of the trigger, as JSON text."""
ENV_STATE = "TORPOR_STATE"
"""For containers: the state of the deferral, as JSON text."""
ENV_TIMED_OUT = "TORPOR_TIMED_OUT"
"""For containers: `true` if the deferral timed out and the task resumes without an event."""
ENV_DEADLINE = "TORPOR_DEADLINE"
"""For containers: when the attempt exceeds its timeout, in RFC 3339; unset without a timeout."""
ENV_POD_UID = "TORPOR_POD_UID"
"""In a local run: the uid of the pod. In a cluster the token of the pod has it."""
ENV_DEFERRABLE = "TORPOR_DEFERRABLE"
"""Default of a sensor's `deferrable`: `false`, or `unserved` if its triggerer pool has no triggerer; unset: true."""
UNSERVED = "unserved"
RUNTIME_FOLDER = "/torpor"
"""Where the runtime is mounted in a pod whose image does not have it."""
SOURCE_FOLDER = "/torpor-source"
ENV_SOURCE = "TORPOR_SOURCE"
"""Folder with the files of `source`, which comes first in sys.path."""
ENV_ALLOW_NETWORKS = "TORPOR_ALLOW_NETWORKS"
"""For triggerers, and for the init container that fetches files: networks that are allowed though denied by default."""
ENV_DENY_NETWORKS = "TORPOR_DENY_NETWORKS"
FILES_FOLDER = "/files"
"""Where inputs and outputs are that have no path of their own."""
ENV_FILES = "TORPOR_FILES"
"""The files that the init container fetches or the wrapper stores, as JSON (ADR 0064)."""
ENV_FILE_KEY = "TORPOR_FILE_SECRET_"
"""And a number: a key of a Secret that a source of a file names, for the init container (ADR 0065)."""
CREDENTIALS = "/var/run/secrets/torpor.dev"
"""Folder with `token` (valid for one hour, renewed by the kubelet) and `ca.crt`."""

INSTALLATION_LEASE = "torpor-installation"
"""The Lease in a namespace of workflows whose holder is the namespace of the confined installation that serves it."""
SYSTEM_NAMESPACE = "torpor-system"
"""The namespace of an installation that serves all namespaces."""
SYSTEM_VARIABLE = "TORPOR_SYSTEM_NAMESPACE"
"""For the command line and the page: the namespace of the installation, if it is another one."""
ARCHIVE_CONFIG = "torpor-archive"
"""The ConfigMap next to the operator with `url` and `ca.crt` of the archive."""
ARCHIVE_CERTIFICATE = "ca.crt"
ENV_API = "TORPOR_API"
"""In a local run: `unix:` and the path of the socket of its API server."""
ENV_CLOCK_OFFSET = "TORPOR_CLOCK_OFFSET"
"""In a local run: seconds by which its time is ahead of the system's clock."""
ENV_ARCHIVE_URL = "TORPOR_ARCHIVE_URL"
"""For containers with tools, and in a local run: URL of the archive; unset without an archive."""
ENV_ARCHIVE_CA = "TORPOR_ARCHIVE_CA"
"""For containers with tools: the certificate of the archive, in PEM."""
ARCHIVE_AUDIENCE = "torpor-archive"
ARCHIVE_READER = "torpor-archive-reader"
"""The ServiceAccount of a namespace whose tokens read the namespace's runs, results and logs in the archive."""
ARCHIVE_TOKEN = "archive-token"  # noqa: S105 - the name of a file
"""File in CREDENTIALS: the token of the pod for the archive."""
