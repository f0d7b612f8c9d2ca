"""The files of one pod: its output, termination message, result and scripts, and those of `source`, a ConfigMap."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torpor_wire import constants

from torpor_local.apiserver import config_maps
from torpor_local.pods import status
from torpor_local.pods.variables import ReadConfigMap

_EXECUTABLE = 0o755
_WRITABLE = 0o666
"""A container may run as another user; a kubelet creates the termination log with this mode, too."""


class MissingSourceError(Exception):
    """The ConfigMap of `source` does not exist. The message is for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFiles:
    """The output of a pod, its termination message, the file of its result, and the folders of source and scripts."""

    log: Path
    message: Path
    source: Path
    scripts: Path
    result: Path

    @classmethod
    def of_pod(cls, name: str, uid: str, *, logs: Path, scratch: Path) -> "PodFiles":
        """Return the files of a pod, of which only the log is kept."""
        message, source, scripts, result = (
            scratch / f"{uid}.{what}" for what in ("message", "source", "scripts", "result")
        )
        return cls(log=logs / f"{name}.log", message=message, source=source, scripts=scripts, result=result)

    def write_scripts(self, texts: Mapping[str, str]) -> bool:
        """Write scripts by the names of their containers, which the API server checks. Return whether there are any."""
        for name, text in texts.items():
            self.scripts.mkdir(parents=True, exist_ok=True)
            (self.scripts / name).write_text(text)
            (self.scripts / name).chmod(_EXECUTABLE)
        return bool(texts)

    def read_result(self, size: int) -> bytes:
        """Return the first bytes of the file that was copied from a container. Raises OSError, also for a link.

        A link of a container would name a file of this machine.
        """
        with os.fdopen(os.open(self.result, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return file.read(size)

    def create(self) -> None:
        """Create the file for the termination message. Raises OSError."""
        self.message.touch()
        self.message.chmod(_WRITABLE)

    def write_source(self, pod: Mapping[str, Any], read: ReadConfigMap) -> bool:
        """Write the files of the source into their folder. Return whether the pod has one. Raises MissingSourceError.

        `read` returns a ConfigMap by its name. Its keys are names of files, because the API server checks them.
        """
        name = config_map_of(pod)
        if name is None:
            return False
        config_map = read(name)
        if config_map is None:
            raise MissingSourceError(
                f"source: there is no ConfigMap {name}: add it to the file, or put its files into a folder {name} "
                "beside it"
            )
        shutil.rmtree(self.source, ignore_errors=True)
        self.source.mkdir(parents=True)
        for key, content in config_maps.files(config_map).items():
            (self.source / key).write_bytes(content)
        return True

    def termination_message(self, code: int) -> str:
        """Return the termination message of a process that ended with this code. Raises OSError."""
        with self.message.open("rb") as file:
            written = file.read(status.MESSAGE_MAX)
        return status.message(written, tail(self.log, status.LOG_TAIL), code)

    def remove(self) -> None:
        """Remove what is of no use after the end of the process: the log stays."""
        self.message.unlink(missing_ok=True)
        for folder in (self.source, self.scripts, self.result):
            shutil.rmtree(folder, ignore_errors=True)
        if not self.result.is_dir():
            self.result.unlink(missing_ok=True)


def tail(path: Path, size: int) -> bytes:
    """Return the last bytes of a file, which may be larger than the memory. Raises OSError."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - size))
        return file.read(size)


def config_map_of(pod: Mapping[str, Any]) -> str | None:
    """Return the name of the ConfigMap that is mounted as the source of the pod, None if there is none."""
    mounts = pod["spec"]["containers"][0].get("volumeMounts") or ()
    volume = next((mount["name"] for mount in mounts if mount["mountPath"] == constants.SOURCE_FOLDER), None)
    volumes = pod["spec"].get("volumes") or ()
    return next(
        (entry["configMap"]["name"] for entry in volumes if entry["name"] == volume and "configMap" in entry), None
    )
