"""The environment of a task pod as one value, and the files of `source`.

The operator sets the variable TORPOR_RUNTIME when it creates the pod, so the claim needs no read before it.
"""

import binascii
import json
import os
import sys
from collections.abc import Mapping
from typing import NamedTuple

from torpor_wire import constants, names, runtime_variable
from torpor_wire.state import State
from torpor_wire.transitions import NO_HISTORY, HistorySize, Pin

_HASH_DIGITS = 16
_URL_SAFE = str.maketrans("-_", "+/")


class LaunchError(Exception):
    """The environment is not that of a task pod."""


class Launch(NamedTuple):
    """The segment of a TaskRun that this pod runs."""

    namespace: str
    taskrun: str
    uid: str
    created: str
    attempt: int
    segment: int
    launch: int
    started: str | None
    pod: str
    pod_uid: str
    nonce: str
    """A random word of this process, stored with the claim, so that the process recognizes its own."""
    seal_key: str | None = None
    """The public key of the pool in base64; None if the pool has none."""

    archive_url: str | None = None
    archive_namespace: str = ""
    """The namespace of the ConfigMap with the certificate of the archive."""

    source: str | None = None
    """The hash of the files of `source`; None if the task has none."""

    history: HistorySize = NO_HISTORY
    """The history of the TaskRun after the claim."""

    def pin(self, state: State) -> Pin:
        """Return the preconditions of this pod's writes."""
        return Pin(self.uid, self.created, state, self.attempt, self.segment, self.launch, self.history)

    def path(self) -> str:
        """Return the API path of the TaskRun."""
        return path(self.namespace, self.taskrun)


def path(namespace: str, taskrun: str) -> str:
    """Return the API path of a TaskRun."""
    return f"/apis/{constants.API_VERSION}/namespaces/{namespace}/taskruns/{taskrun}"


def read(environment: Mapping[str, str], nonce: str, pod_uid: str) -> Launch:
    """Return the launch from the environment. Raises LaunchError."""
    text = environment.get(constants.ENV_RUNTIME)
    if text is None:
        raise LaunchError(
            f"{constants.ENV_RUNTIME} is not set: run `python -m torpor` only in pods that Torpor creates"
        )
    try:
        variable = runtime_variable.parse(text)
    except ValueError as error:
        raise LaunchError(f"{constants.ENV_RUNTIME} is invalid: {error}") from error
    variable = variable._replace(
        archive_url=variable.archive_url or environment.get(constants.ENV_ARCHIVE_URL),
        archive_namespace=variable.archive_namespace or "",
    )
    pod = names.pod(variable.taskrun, variable.attempt, variable.segment, variable.launch)
    return Launch(**variable._asdict(), pod=pod, pod_uid=pod_uid, nonce=nonce)


def pod_uid(token: str) -> str:
    """Return the uid of the pod to which a ServiceAccount token is bound. Raises LaunchError.

    The token is not verified here: the API server does that at each request.
    """
    try:
        payload = token.split(".")[1].translate(_URL_SAFE)
        claims = json.loads(binascii.a2b_base64(payload + "=" * (-len(payload) % 4)))
        return str(claims["kubernetes.io"]["pod"]["uid"])
    except (ValueError, LookupError, TypeError) as error:
        raise LaunchError(f"the token in {constants.CREDENTIALS} is not bound to a pod: {error!r}") from error


def with_source(launch: Launch, environment: Mapping[str, str]) -> Launch:
    """Put the files of `source` first in sys.path, and return the launch with their hash. Raises LaunchError."""
    folder = environment.get(constants.ENV_SOURCE)
    if not folder:
        return launch
    try:
        digest = source_hash(folder)
    except OSError as error:
        raise LaunchError(f"the files of source cannot be read: {error}") from error
    sys.path.insert(0, folder)
    return launch._replace(source=digest)


def source_hash(folder: str) -> str:
    """Return `sha256:` and the first 16 digits of the hash over all files in the order of their names.

    Of each file, the hash contains name, size and content, with a NUL after the first two. A kubelet mounts the files
    as links into hidden folders, whose names begin with two dots and change. Raises OSError.
    """
    import hashlib  # noqa: PLC0415 - only for tasks with such files

    digest = hashlib.sha256()
    for name in sorted(map(os.fsencode, os.listdir(folder))):  # noqa: PTH208 - pathlib costs 5 ms
        path = os.path.join(os.fsencode(folder), name)  # noqa: PTH118
        if name.startswith(b"..") or not os.path.isfile(path):  # noqa: PTH113
            continue
        with open(path, "rb") as file:  # noqa: PTH123
            content = file.read()
        digest.update(b"%s\0%d\0%s" % (name, len(content), content))
    return f"sha256:{digest.hexdigest()[:_HASH_DIGITS]}"
