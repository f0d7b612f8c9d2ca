"""The files of a task on this machine: what `torpor-tool` does in a pod of a cluster, with the archive of the run.

Inputs are in a folder of the pod's own: a container mounts them, a python task gets their paths. Outputs of a container
are copied from it after its end. All functions block, so they run in a thread.
"""

import json
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torpor.runtime import http, status_patch
from torpor.runtime.archive import outputs
from torpor.runtime.archive.client import ArchiveAddress, ArchiveConnection
from torpor.runtime.http import ApiResponse, UnclearError
from torpor.runtime.outcome import TaskFailure
from torpor_client.errors import UserError
from torpor_client.runs import file_content
from torpor_operator.model.pod import FILES_CONTAINER, FILES_VOLUME, INPUT_VOLUME
from torpor_wire import constants

from torpor_local.apiserver import config_maps
from torpor_local.pods import file_sources
from torpor_local.pods.file_sources import SourceError
from torpor_local.pods.variables import ReadConfigMap, expanded

Object = Mapping[str, Any]


class FileError(Exception):
    """An input cannot be fetched, or an output stored. The message is for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTaskFiles:
    """The files of one pod, in a folder of its own. `mounts` are paths in the container, and what is there."""

    folder: Path
    inputs: tuple[Object, ...]
    config_maps: tuple[tuple[str, str, str | None], ...]
    mounts: Mapping[str, Path]
    outputs: tuple[Object, ...]
    named: tuple[Object, ...]
    """The names and paths of the inputs of a python task."""
    fetching: Object
    """The init container that fetches the inputs in a cluster; empty if there is none."""

    def remove(self) -> None:
        """Remove the files of an ended pod."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def output(self, name: str) -> Path:
        """Where an output is on this machine."""
        return self.folder / "out" / name

    def variables(self) -> dict[str, str]:
        """The variable of a python task, with paths of this machine; none without files."""
        if not self.mounts and not self.outputs:
            return {}
        inputs = [{"name": entry["name"], "path": str(self.mounts[entry["path"]])} for entry in self.named]
        out = [{**output, "path": str(self.output(output["name"]))} for output in self.outputs]
        return {constants.ENV_FILES: json.dumps({"in": inputs, "out": out})}


def of_pod(pod: Object, folder: Path) -> LocalTaskFiles:
    """Return the files of a pod. `folder` is on this machine."""
    spec = pod["spec"]
    main, *_ = spec["containers"]
    fetching = next((each for each in spec.get("initContainers") or () if each["name"] == FILES_CONTAINER), None)
    volumes = {volume["name"]: volume for volume in spec.get("volumes") or ()}
    mounts: dict[str, Path] = {}
    maps: list[tuple[str, str, str | None]] = []
    for mount in main.get("volumeMounts") or ():
        if mount["name"] == FILES_VOLUME and mount["subPath"].startswith("in/"):
            mounts[mount["mountPath"]] = folder / mount["subPath"]
        elif mount["name"].startswith(INPUT_VOLUME):
            mounts[mount["mountPath"]] = folder / "in" / mount["name"]
            maps.append((mount["name"], volumes[mount["name"]]["configMap"]["name"], mount.get("subPath")))
    return LocalTaskFiles(
        folder=folder,
        inputs=tuple(_declared(fetching).get("in") or ()) if fetching else (),
        config_maps=tuple(maps),
        mounts=mounts,
        outputs=tuple(_declared(main).get("out") or ()),
        named=tuple(_declared(main).get("in") or ()),
        fetching=fetching or {},
    )


def _declared(container: Object) -> dict[str, Any]:
    texts = (each.get("value") for each in container.get("env") or () if each["name"] == constants.ENV_FILES)
    value: dict[str, Any] = json.loads(expanded(next(texts, None) or "{}", {}))
    return value


def fetch(files: LocalTaskFiles, pod: Object, archive: Path, read: ReadConfigMap, environ: Mapping[str, str]) -> None:
    """Write the inputs. `environ` has the values of Secrets. Raises FileError."""
    files.remove()
    if not files.mounts and not files.outputs:
        return
    for name in ("in", "out"):
        (files.folder / name).mkdir(parents=True)
    try:
        for name, config_map, key in files.config_maps:
            _write_config_map(files.folder / "in" / name, config_map, key, read)
        secrets = file_sources.secrets_of(files.fetching, environ)
        for entry in files.inputs:
            _write_input(entry, files.folder / "in" / entry["name"], pod, archive, secrets)
    except SourceError as error:
        raise FileError(str(error)) from error
    except (OSError, EOFError, UnclearError, UserError, tarfile.TarError) as error:
        raise FileError(f"an input cannot be fetched: {error}") from error


def store(files: LocalTaskFiles, pod: Object, archive: Path) -> list[dict[str, Any]]:
    """Store the outputs, and return their descriptions. Raises FileError."""
    declared = [{**each, "path": str(files.output(each["name"]))} for each in files.outputs]
    stored = outputs.store(archive_of(pod, archive), declared, retry_policy())
    if isinstance(stored, TaskFailure):
        raise FileError(stored.message)
    return stored


def retry_policy() -> status_patch.RetryPolicy:
    """Return how long a request to the archive of the run is repeated."""
    import time  # noqa: PLC0415 - the clock of the machine, not of the run

    return status_patch.RetryPolicy(30.0, frozenset(), time.monotonic, time.sleep, lambda: 0.5)


def archive_of(pod: Object, archive: Path) -> ArchiveConnection:
    """Return a connection to the archive of the run, as the pod."""
    metadata = pod["metadata"]
    token = f"{metadata['namespace']}/{metadata['uid']}/{metadata['name']}"
    taskrun = str(metadata["ownerReferences"][0]["name"])
    connect = http.over_unix(str(archive))
    return ArchiveConnection(ArchiveAddress("localhost", connect, lambda: token, metadata["namespace"], taskrun))


def _write_config_map(target: Path, name: str, key: str | None, read: ReadConfigMap) -> None:
    config_map = read(name)
    if config_map is None:
        raise FileError(f"there is no ConfigMap {name}: add it to the file, or put its files into a folder {name}")
    contents = config_maps.files(config_map)
    if key is not None:
        if key not in contents:
            raise FileError(f"the ConfigMap {name} has no key {key}")
        target.write_bytes(contents[key])
        return
    target.mkdir()
    for each, content in contents.items():
        (target / each).write_bytes(content)


def _write_input(entry: Object, target: Path, pod: Object, archive: Path, secrets: Mapping[str, str]) -> None:
    if entry.get("text") is not None:
        target.write_text(entry["text"])
        return
    if file_sources.write(entry, target, secrets):
        return
    origins: list[Object] = [*(entry.get("origins") or ())]
    if len(origins) == 1 and not origins[0].get("entry"):
        _write_origin(origins[0], target, pod, archive)
    elif origins:
        target.mkdir()
        for origin in origins:
            _write_origin(origin, target / origin["entry"], pod, archive)


def _write_origin(origin: Object, target: Path, pod: Object, archive: Path) -> None:
    connection = archive_of(pod, archive)
    try:
        with connection.get(origin["taskrun"], origin["digest"], file=origin["name"]) as answer:
            if isinstance(answer, ApiResponse):
                message = answer.body.get("message", "") if isinstance(answer.body, dict) else ""
                raise FileError(f"the archive does not return {origin['name']}: {message}")
            file_content.write(answer, origin, target)
    finally:
        connection.close()
