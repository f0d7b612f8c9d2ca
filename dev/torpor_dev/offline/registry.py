"""Finds out once whether the Docker engine can pull images."""

from functools import cache

from torpor_dev import command
from torpor_dev.progress import step

_SMALLEST = "hello-world:latest"
_PATIENCE = 15


@cache
def reachable() -> bool:
    """Whether the engine can pull from Docker Hub or its mirror.

    Tries a real pull, because the proxies and mirrors of the engine are unknown here.
    """
    with step("asking whether an image registry can be reached"):
        return command.succeeds("docker", "pull", "--quiet", _SMALLEST, limit=_PATIENCE)
