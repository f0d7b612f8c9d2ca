"""What a pod is told about itself: its environment, as one value.

The operator writes these variables when it creates the pod; with them the claim needs no read before it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from torpor_wire import constants
from torpor_wire.state import State
from torpor_wire.transitions import Pin


class LaunchError(Exception):
    """The environment is not a task pod's."""


class Launch(NamedTuple):
    """The segment of a TaskRun that this pod was created for."""

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
    """A random word of this process: the claim carries it, so that the process can tell its own."""
    seal_key: str | None = None
    """With what values are sealed to the pool's triggerers, base64; None where the pool has published no key."""

    archive_url: str | None = None
    archive_ca: str = ""
    """The archive's own certificate, PEM."""

    def pin(self, state: State) -> Pin:
        """What must still hold of the TaskRun when this pod writes."""
        return Pin(self.uid, self.created, state, self.attempt, self.segment, self.launch)

    def path(self) -> str:
        """The TaskRun's path at the API server."""
        return path(self.namespace, self.taskrun)


def path(namespace: str, taskrun: str) -> str:
    """The path of any TaskRun at the API server."""
    return f"/apis/{constants.API_VERSION}/namespaces/{namespace}/taskruns/{taskrun}"


def read(environment: Mapping[str, str], nonce: str) -> Launch:
    """The launch that the environment describes. Raises LaunchError for what is not a task pod's environment."""
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
        raise LaunchError(f"{error.args[0]} is not set: `python -m torpor` runs in pods that Torpor creates") from error
    except ValueError as error:
        raise LaunchError(f"attempt, segment and launch are numbers: {error}") from error
