"""Removes everything that this package created: cluster, engine process, images and cache folder."""

import shutil

from torpor_dev import cache, cluster, command, control_plane, engine
from torpor_dev.progress import say, step


def everything() -> None:
    """Remove everything but installed Debian packages."""
    control_plane.stop(control_plane.default_state())
    if engine.reachable():
        _remove_images()
    elif shutil.which("docker"):
        say("no Docker engine answers, so its images torpor-dev/* stay; start it and repeat the command to remove them")
    cluster.down()
    with step("removing the cache folder"):
        shutil.rmtree(cache.folder())


def _remove_images() -> None:
    names = command.run("docker", "images", "--format", "{{.Repository}}:{{.Tag}}", "torpor-dev/*", limit=60).split()
    if names:
        command.run("docker", "rmi", "--force", *names, limit=300)
