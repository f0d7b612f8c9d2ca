"""Files in the folders that a triggerer opens to waits, and nowhere else.

A path is judged as written, and again where it leads when all symbolic links are followed: a volume is written by
others, and a link on it must not show what lies beside it. The functions that look at files block.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ENTRIES_MAX = 100_000
NAMES_MAX = 8 * 1024**2
"""Characters of all paths that are looked at."""
_MAGIC = frozenset("*?[")


class Found(NamedTuple):
    """A file: size in bytes, `mtime` in seconds since the epoch."""

    path: str
    size: int
    mtime: float


def folder_of(path: str, folders: Sequence[str]) -> str:
    """The folder that an absolute path or pattern is in, as it is written. Raises ValueError where it is in none."""
    parts = PurePosixPath(path)
    if not parts.is_absolute() or ".." in parts.parts:
        raise ValueError(f"{path[:200]!r} is no absolute path without `..`")
    for folder in folders:
        if parts.is_relative_to(folder):
            return folder
    there_are = f"it opens {', '.join(folders)}" if folders else "it opens none (--folder)"
    raise ValueError(f"{path[:200]!r} is in no folder that this triggerer opens to waits; {there_are}")


def real(path: str, folder: str) -> str:
    """Where it leads, all links followed. Raises OSError, of which PermissionError where that is outside."""
    try:
        found = Path(path).resolve(strict=True)
    except RuntimeError as error:
        raise OSError(f"{path} is a link to itself") from error
    if not found.is_relative_to(Path(folder).resolve()):
        raise PermissionError(f"{path} leads out of {folder}")
    return str(found)


def matching(pattern: str, folder: str) -> list[Found]:
    """The files in the folder that a path or pattern names, by name; `**` is any number of folders.

    Links to folders are not followed by `**`. What leads out of the folder, and what is no regular file, is left out.
    Raises ValueError where more than 100,000 entries, or 8 MiB of their paths, would have to be looked at.
    """
    parts = PurePosixPath(pattern).relative_to(folder).parts
    seen = {path: _file(path, folder) for path in _walk(folder, parts, _Budget())}
    return [found for _, found in sorted(seen.items()) if found is not None]


class _Budget:
    """How many entries may still be looked at."""

    def __init__(self) -> None:
        self._left = ENTRIES_MAX
        self._names = NAMES_MAX

    def spend(self, path: str) -> None:
        self._left -= 1
        self._names -= len(path)
        if self._left < 0 or self._names < 0:
            most = f"{ENTRIES_MAX} entries" if self._left < 0 else f"{NAMES_MAX} characters of paths"
            raise ValueError(f"it would look at more than {most}: name a folder of fewer")


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
    found = []
    try:
        with os.scandir(base) as entries:
            for entry in entries:
                budget.spend(entry.path)
                found.append(entry)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return found


def _matches(name: str, pattern: str) -> bool:
    """As a shell has it: a leading dot must be written."""
    return fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith("."))


def _file(path: str, folder: str) -> Found | None:
    try:
        # Not followed once more: whoever changes a link in between must not get further than they would have.
        status = os.lstat(real(path, folder))
    except OSError:
        return None
    return Found(path, status.st_size, status.st_mtime) if stat.S_ISREG(status.st_mode) else None
