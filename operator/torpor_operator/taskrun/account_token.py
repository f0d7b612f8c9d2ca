"""The ServiceAccount that a task names in `pod`: whether its pod may have it, and its API token. Pure.

The token of `pod.serviceAccountToken` (ADR 0058) is a projected one at the path where clients of Kubernetes look for
it. Init containers and sidecars do not get it. It is apart from the credentials of the runtime, and no part of Torpor
reads it.
"""

from typing import Any

from torpor_crds.models.pod_fields import PodFields
from torpor_wire import retry
from torpor_wire.objects import account_mark
from torpor_wire.reason import Reason

from torpor_operator.model.actions import ReadAccount
from torpor_operator.model.snapshot import AccountUse
from torpor_operator.taskrun import step
from torpor_operator.taskrun.step import Step, TaskRunView

VOLUME = "torpor-account-token"
FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
_SECONDS = 3600
_NAMESPACE = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
_SOURCES: list[dict[str, Any]] = [
    {"serviceAccountToken": {"path": "token", "expirationSeconds": _SECONDS}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    {"downwardAPI": {"items": [_NAMESPACE]}},
]


def refusal(view: TaskRunView, chosen: PodFields) -> Step | None:
    """The step of a TaskRun whose account its owner does not let tasks use; None if its pod may have the account.

    The operator creates the pod for a user who need not be allowed to create pods, so it must not lend every account of
    the namespace (ADR 0085). The account of all tasks needs no mark, unless a task asks for its token.
    """
    account, namespace = chosen.service_account_name, view.taskrun.metadata.namespace
    if account is None or (account == view.settings.task_service_account and not is_mounted(chosen)):
        return None
    need = ReadAccount(namespace, account)
    match view.known.get(need):
        case AccountUse.ALLOWED:
            return None
        case AccountUse.NOT_ALLOWED:
            message = account_mark.refusal(namespace, account)
        case AccountUse.NO_ACCOUNT:
            message = account_mark.absence(namespace, account)
        case _:
            return Step(needs=(need,))
    return step.fail(view, Reason.FORBIDDEN, message, retry.Policy())


def is_mounted(chosen: PodFields) -> bool:
    """Whether the task gets the token: never that of the account of all tasks, which its author has not named."""
    return bool(chosen.service_account_token and chosen.service_account_name)


def volumes(chosen: PodFields) -> list[dict[str, Any]]:
    """The volume of the token, its namespace and the certificate of the API server."""
    return [{"name": VOLUME, "projected": {"sources": _SOURCES}}] if is_mounted(chosen) else []


def mounts(chosen: PodFields) -> list[dict[str, Any]]:
    """Its mount in the container of the task."""
    return [{"name": VOLUME, "mountPath": FOLDER, "readOnly": True}] if is_mounted(chosen) else []
