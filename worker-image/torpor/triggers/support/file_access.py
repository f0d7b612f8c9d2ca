"""Files in the folders that a triggerer allows, and no others.

A path is checked as written, and again with all symbolic links resolved, because others write the volume. The functions
that access files block.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ENTRIES_MAX = 100_000
NAMES_MAX = 8 * 1024**2
"""Characters of all visited paths."""
_MAGIC = frozenset("*?[")


class FileInfo(NamedTuple):
    """A file: size in bytes, `mtime` in seconds since the epoch."""

    path: str
    size: int
    mtime: float


def folder_of(path: str, folders: Sequence[str]) -> str:
    """Return the allowed folder of an absolute path or pattern. Raises ValueError if there is none."""
    parts = PurePosixPath(path)
    if not parts.is_absolute() or ".." in parts.parts:
        raise ValueError(f"{path[:200]!r} is not an absolute path without `..`")
    for folder in folders:
        if parts.is_relative_to(folder):
            return folder
    there_are = f"it allows {', '.join(folders)}" if folders else "it allows none (--folder)"
    raise ValueError(f"{path[:200]!r} is in no folder that this triggerer allows; {there_are}")


def real(path: str, folder: str) -> str:
    """Return the path with all links resolved. Raises OSError, and PermissionError if it is outside the folder."""
    try:
        resolved = Path(path).resolve(strict=True)
    except RuntimeError as error:
        raise OSError(f"{path} is a link to itself") from error
    if not resolved.is_relative_to(Path(folder).resolve()):
        raise PermissionError(f"{path} is outside of {folder}")
    return str(resolved)


def matching(pattern: str, folder: str) -> list[FileInfo]:
    """Return the files that match a path or pattern, by name; `**` matches any number of folders.

    `**` does not follow links to folders. Other files than regular ones, and links out of the folder, are ignored.
    Raises ValueError after 100,000 entries or 8 MiB of paths.
    """
    parts = PurePosixPath(pattern).relative_to(folder).parts
    seen = {path: _file(path, folder) for path in _walk(folder, parts, _Budget())}
    return [file for _, file in sorted(seen.items()) if file is not None]


class _Budget:
    """The number of entries that may still be visited."""

    def __init__(self) -> None:
        self._left = ENTRIES_MAX
        self._names = NAMES_MAX

    def spend(self, path: str) -> None:
        self._left -= 1
        self._names -= len(path)
        if self._left < 0 or self._names < 0:
            most = f"{ENTRIES_MAX} entries" if self._left < 0 else f"{NAMES_MAX} characters of paths"
            raise ValueError(f"it matches more than {most}: use a smaller folder")


def _walk(base: str, parts: tuple[str, ...], budget: _Budget) -> Iterator[str]:
    if not parts:
        yield base
    elif parts[0] == "**":
        yield from _walk(base, parts[1:], budget)
        for entry in _entries(base, budget):
            if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path, parts, budget)
    elif _MAGIC.isdisjoint(parts[0]):
        path = f"{base}/{parts[0]}"
        budget.spend(path)
        yield from _walk(path, parts[1:], budget)
    else:
        for entry in _entries(base, budget):
            if _matches(entry.name, parts[0]):
                yield from _walk(entry.path, parts[1:], budget)


def _entries(base: str, budget: _Budget) -> list["os.DirEntry[str]"]:
    listed = []
    try:
        with os.scandir(base) as entries:
            for entry in entries:
                budget.spend(entry.path)
                listed.append(entry)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return listed


def _matches(name: str, pattern: str) -> bool:
    """Match as a shell does: a leading dot must be explicit."""
    return fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith("."))


def _file(path: str, folder: str) -> FileInfo | None:
    try:
        # lstat, because a link may have changed since `real` resolved it.
        status = os.lstat(real(path, folder))
    except OSError:
        return None
    return FileInfo(path, status.st_size, status.st_mtime) if stat.S_ISREG(status.st_mode) else None
