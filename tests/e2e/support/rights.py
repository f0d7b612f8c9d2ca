"""Rights of users: the authorizer of the API server learns of a binding a moment after it was created."""

import time

from torpor_demo.kubectl import Kubectl
from torpor_dev.console import CommandError

_LIMIT_S = 300.0


def bind(kubectl: Kubectl, namespace: str, role: str, *, user: str, name: str = "") -> None:
    """Bind a ClusterRole that includes `get` for TaskRuns to a user, and wait until it holds."""
    words = (name or user.partition("@")[0], f"--clusterrole={role}", f"--user={user}")
    kubectl.run("-n", namespace, "create", "rolebinding", *words)
    wait_until_allowed(kubectl, namespace, user, "get", "taskruns.torpor.dev")


def wait_until_allowed(kubectl: Kubectl, namespace: str, user: str, verb: str, resource: str) -> None:
    """Wait until a user may do something in a namespace."""
    end = time.monotonic() + _LIMIT_S
    while not _is_allowed(kubectl, "-n", namespace, "--as", user, verb, resource):
        assert time.monotonic() < end, f"{user} may not {verb} {resource} in {namespace}"
        time.sleep(0.2)


def _is_allowed(kubectl: Kubectl, *words: str) -> bool:
    try:
        kubectl.run("auth", "can-i", *words)
    except CommandError:
        return False
    return True
