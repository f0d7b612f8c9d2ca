"""The words and numbers of API version v1alpha1: group, kinds, labels, limits, environment of a task pod.

A constant here is part of the API: changing one needs a new API version or a migration.
"""

GROUP = "torpor.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"

LABEL_WORKFLOW = f"{GROUP}/workflow"
LABEL_TASK = f"{GROUP}/task"
LABEL_INDEX = f"{GROUP}/index"
LABEL_TASKRUN_UID = f"{GROUP}/taskrun-uid"
LABEL_POOL = f"{GROUP}/trigger-pool"
SEAL_DATA = "publicKey"
"""In the ConfigMap of a pool: with what values are sealed to its triggerers, base64."""
FINALIZER = f"{GROUP}/cancel-first"
POD_FINALIZER = f"{GROUP}/outcome"
POD_GATE = f"{GROUP}/claim"
CLEAR = f"{GROUP}/clear"
CLEAR_MAX = 4096
"""Characters of what is asked for; the mark in the status keeps them."""
APPROVAL = f"{GROUP}/approval"
APPROVAL_BY = f"{GROUP}/approval-by"
APPROVAL_FOR = f"{GROUP}/approval-for"
APPROVAL_NOTE = f"{GROUP}/approval-note"

FIELD_MANAGER = "torpor"
"""Under which every part writes status, so that the policy finds the moment at which the API server took the write."""
CLOCK_SLACK_S = 600
"""How far from the API server's clock a moment that a pod or a triggerer writes may be; the policy holds them to it."""

DEFAULT_POOL = "default"
POOLS_CONFIG = "torpor-pools"
"""The ConfigMap of a namespace with its pools: names, and how many slots each has."""
TASK_ACCOUNT = "torpor-task"
"""The ServiceAccount of a task whose TaskRun names none."""
SHARDS = 256
UNMAPPED = -1

NAME_MAX = 50
MAP_MAX = 100_000
"""Instances of one task that anybody may ask for: what stands in a status of more was written by another hand."""
RANGES_MAX = 256 * 1024
"""Characters of a set of instances: 20,000 in groups, each index with another number of them, take 88,000."""
GROUP_DEPTH = 3
"""How many mapped groups a task may stand in, one within the other."""
RESULT_MAX = 8 * 1024
"""Bytes of JSON that stand on a TaskRun; what is larger goes to the archive, and the TaskRun describes it."""
STORED_KEYS_MAX = 16 * 1024
"""Bytes of JSON text of a stored object's keys; one with more can be read, and not mapped over."""
EVENT_MAX = 4 * 1024
EVENT_STORED_MAX = 1024 * 1024
"""Bytes of an event that goes to the archive: the triggerer holds it in memory."""
KWARGS_MAX = 4 * 1024
NEXT_MAX = 4 * 1024
MESSAGE_MAX = 1024
LOG_MAX = 4 * 1024
ARGUMENT_INLINE_MAX = 1024
ARGUMENTS_MAX = 64 * 1024
"""Bytes of all arguments, and of the command, of one TaskRun."""
ARGUMENTS_TOTAL_MAX = 8 * 1024**2
"""The same of all instances of a task together, as long as each may have `ARGUMENTS_FLOOR`."""
ARGUMENTS_FLOOR = 2 * 1024
"""What each instance may have however many there are: no more than the rest of a TaskRun takes."""
MISSING_MAX = 1024
"""Characters that say which results of a mapped task are missing."""

EXIT_FORBIDDEN = 77
"""With what a task pod exits whose ServiceAccount has no role to claim (EX_NOPERM of sysexits.h)."""

ENV_TASKRUN = "TORPOR_TASKRUN"
ENV_NAMESPACE = "TORPOR_NAMESPACE"
ENV_TASKRUN_UID = "TORPOR_TASKRUN_UID"
ENV_ATTEMPT = "TORPOR_ATTEMPT"
ENV_SEGMENT = "TORPOR_SEGMENT"
ENV_LAUNCH = "TORPOR_LAUNCH"
ENV_CREATED = "TORPOR_CREATED"
ENV_STARTED = "TORPOR_STARTED"
ENV_WORKFLOW = "TORPOR_WORKFLOW"
ENV_TASK = "TORPOR_TASK"
ENV_INDEX = "TORPOR_INDEX"
"""Of a container: its indexes in groups and its own, as in `0.1`; empty for a task that is not mapped."""
ENV_IDEMPOTENCY_KEY = "TORPOR_IDEMPOTENCY_KEY"
ENV_POD_NAME = "TORPOR_POD_NAME"
ENV_POD_UID = "TORPOR_POD_UID"
ENV_DEFERRABLE = "TORPOR_DEFERRABLE"
"""`true` or `false`: what a sensor does that does not say; `unserved`: no triggerer would run any wait of its pool."""
UNSERVED = "unserved"
ENV_SEAL_KEY = "TORPOR_SEAL_KEY"
CREDENTIALS = "/var/run/secrets/torpor.dev"
"""Where a task pod finds `token` (one hour, renewed in place by the kubelet) and `ca.crt`."""

ARCHIVE_CONFIG = "torpor-archive"
"""The ConfigMap beside the operator that says where the archive is: `url` and `ca.crt`."""
ENV_ARCHIVE_URL = "TORPOR_ARCHIVE_URL"
"""Where the archive is, such as `https://torpor-archive.torpor-system.svc:8443`; unset where there is none."""
ENV_ARCHIVE_CA = "TORPOR_ARCHIVE_CA"
"""The certificate that the archive made for itself, PEM."""
ARCHIVE_AUDIENCE = "torpor-archive"
ARCHIVE_TOKEN = "archive-token"  # noqa: S105 - the name of a file
"""Beside `token` in CREDENTIALS, where there is an archive: the pod's token of its audience."""
