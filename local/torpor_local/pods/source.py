"""The files of `source`: a ConfigMap that the pod mounts, as a folder of this machine."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torpor_wire import constants

from torpor_local.apiserver import config_maps
from torpor_local.pods.variables import ReadConfigMap


class MissingSourceError(Exception):
    """The ConfigMap of `source` does not exist. The message is for the user."""


def config_map_of(pod: Mapping[str, Any]) -> str | None:
    """Return the name of the ConfigMap that is mounted as the source of the pod, None if there is none."""
    mounts = pod["spec"]["containers"][0].get("volumeMounts") or ()
    volume = next((mount["name"] for mount in mounts if mount["mountPath"] == constants.SOURCE_FOLDER), None)
    volumes = pod["spec"].get("volumes") or ()
    return next(
        (entry["configMap"]["name"] for entry in volumes if entry["name"] == volume and "configMap" in entry), None
    )


def write(pod: Mapping[str, Any], read: ReadConfigMap, folder: Path) -> bool:
    """Write the files of the source into a new folder. Return whether the pod has one. Raises MissingSourceError.

    `read` returns a ConfigMap by its name. Its keys are names of files, because the API server checks them.
    """
    name = config_map_of(pod)
    if name is None:
        return False
    config_map = read(name)
    if config_map is None:
        raise MissingSourceError(
            f"source: there is no ConfigMap {name}: add it to the file, or put its files into a folder {name} beside it"
        )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for key, content in config_maps.files(config_map).items():
        (folder / key).write_bytes(content)
    return True
