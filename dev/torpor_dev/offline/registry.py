"""Whether the Docker engine can pull images, asked once and briefly."""

from functools import cache

from torpor_dev import command
from torpor_dev.progress import step

_SMALLEST = "hello-world:latest"
_PATIENCE = 15


@cache
def reachable() -> bool:
    """Whether Docker Hub, or a mirror that the engine is set to, gives images.

    Asked of the engine with a real pull, since its proxies and mirrors are not ours to guess.
    """
    with step("asking whether an image registry can be reached"):
        return command.succeeds("docker", "pull", "--quiet", _SMALLEST, limit=_PATIENCE)
