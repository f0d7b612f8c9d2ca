"""The environment of a task pod as one value.

The operator sets these variables when it creates the pod, so the claim needs no read before it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from torpor_wire import constants
from torpor_wire.state import State
from torpor_wire.transitions import NO_HISTORY, HistorySize, Pin


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
    archive_ca: str = ""
    """The certificate of the archive in PEM."""

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


def read(environment: Mapping[str, str], nonce: str) -> Launch:
    """Return the launch from the environment. Raises LaunchError."""
    try:
        return Launch(
            namespace=environment[constants.ENV_NAMESPACE],
            taskrun=environment[constants.ENV_TASKRUN],
            uid=environment[constants.ENV_TASKRUN_UID],
            created=environment[constants.ENV_CREATED],
            attempt=int(environment[constants.ENV_ATTEMPT]),
            segment=int(environment[constants.ENV_SEGMENT]),
            launch=int(environment[constants.ENV_LAUNCH]),
            started=environment.get(constants.ENV_STARTED) or None,
            pod=environment[constants.ENV_POD_NAME],
            pod_uid=environment[constants.ENV_POD_UID],
            nonce=nonce,
            seal_key=environment.get(constants.ENV_SEAL_KEY) or None,
            archive_url=environment.get(constants.ENV_ARCHIVE_URL) or None,
            archive_ca=environment.get(constants.ENV_ARCHIVE_CA, ""),
        )
    except KeyError as error:
        raise LaunchError(
            f"{error.args[0]} is not set: run `python -m torpor` only in pods that Torpor creates"
        ) from error
    except ValueError as error:
        raise LaunchError(f"attempt, segment and launch must be numbers: {error}") from error
