"""Disruptions of disks and of the object store: killed, or without room."""

import time

from tests.integration.faults.scene import DisruptedRun
from tests.integration.faults.small_disk import SmallDisk

_AWAY = 4.0


def kill_object_store(scene: DisruptedRun) -> None:
    """Kill the object store, and start it again on the same objects."""
    objects = scene.installation.objects
    assert objects is not None, "the installation has no object store"
    scene.reach_any()
    objects.process.kill()
    try:
        _pass_seconds(scene)
    finally:
        objects.process.start()


def fill_object_store(scene: DisruptedRun) -> None:
    """Leave no room for objects."""
    _fill(scene, scene.installation.object_disk)


def fill_state_folders(scene: DisruptedRun) -> None:
    """Leave no room for what operators write to their own disk."""
    _fill(scene, scene.installation.state_disk)


def _fill(scene: DisruptedRun, disk: SmallDisk | None) -> None:
    assert disk is not None, "only root can mount a disk"
    with disk.full():
        scene.reach_any()
        _pass_seconds(scene)


def _pass_seconds(scene: DisruptedRun) -> None:
    end = time.monotonic() + _AWAY
    scene.installation.until(lambda: (scene.step(), time.monotonic() >= end)[1], "time passes")
