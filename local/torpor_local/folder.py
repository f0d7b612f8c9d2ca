"""The folder of a local run: its lock, its log, and the paths in it.

    engine.log       what operator and triggerers log
    state.jsonl      every change of an object
    archive.db       results that are too large for their TaskRuns
    logs/<pod>.log   the output of each pod
    pods/            what shows that the processes of pods live

The sockets are in a folder outside: `private_folder`.
"""

import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

import torpor
import torpor_wire

from torpor_local import journal, private_folder
from torpor_local.options import LocalRunError

JOURNAL = "state.jsonl"
_LOGGED = ("torpor_crds", "torpor_expressions", "torpor_local", "torpor_operator", "torpor_triggerer", "asyncio")


def archive_file(folder: Path) -> Path:
    """Return the database of the archive in the folder of a run."""
    return folder.absolute() / "archive.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """Paths. `private` is a folder that only the user can open; it goes with the process."""

    path: Path
    private: Path

    @property
    def logs(self) -> Path:
        """The folder of the logs of pods."""
        return self.path / "logs"

    @property
    def pods(self) -> Path:
        """The folder with the locks of pods."""
        return self.path / "pods"

    @property
    def journal(self) -> Path:
        """The file with the changes of objects."""
        return self.path / JOURNAL

    @property
    def socket(self) -> Path:
        """The socket of the API server."""
        return self.private / "api"

    @property
    def archive_socket(self) -> Path:
        """The socket of the archive."""
        return self.private / "archive"

    @property
    def archive(self) -> Path:
        """The database of the archive."""
        return archive_file(self.path)

    @property
    def packages(self) -> Path:
        """The folder with the packages of the worker alone."""
        return self.private / "lib"

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[Self]:
        """Create and lock the folder. Raises LocalRunError if another run has it."""
        path = path.absolute()  # processes of pods get paths in it, and they have another working directory
        for folder in (path, path / "logs", path / "pods"):
            folder.mkdir(parents=True, exist_ok=True)
        (path / "pods").chmod(0o700)  # containers of any user may write to the files in it
        with (path / "lock").open("ab") as lock:
            _lock(lock, path)
            with private_folder.create() as private:
                _link_packages(private / "lib")
                yield cls(path=path, private=private)


def check_is_free(path: Path) -> None:
    """Raise LocalRunError if a folder is in use or has a run."""
    if (path / "lock").exists():
        with (path / "lock").open("rb") as lock:
            _lock(lock, path)
    if journal.read(path / JOURNAL) is not None:
        raise LocalRunError(has_run(path))


def has_run(path: Path) -> str:
    """Return the sentence about a folder that has a run."""
    return f"the folder {path} has a run already: resume it, or choose another folder"


def _lock(file: IO[bytes], path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise LocalRunError(
            f"another local run uses the folder {path}: wait for its end, or choose another folder"
        ) from error


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Send the logs of all components to a file, and nowhere else, inside the block."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    loggers = [logging.getLogger(name) for name in _LOGGED]
    before = [(logger, logger.level, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.propagate = False
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        for logger, level, propagates in before:
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagates
        handler.close()


def _link_packages(folder: Path) -> None:
    """Link the packages of the worker, and no other packages of their site-packages folder."""
    folder.mkdir()
    for package in (torpor, torpor_wire):
        (folder / package.__name__).symlink_to(Path(package.__path__[0]).resolve())
