"""A folder as a layer of an image: the same files give the same bytes, on any machine and at any time.

Owner, times and order are fixed, and no file is setuid. Must not read a clock.
"""

import gzip
import hashlib
import io
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_WITHOUT_PRIVILEGES = 0o777 | stat.S_ISVTX
_LEVEL = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLayer:
    """A compressed layer, with the digest of its content before compression."""

    content: bytes
    diff_id: str

    @property
    def digest(self) -> str:
        """The digest of the compressed layer."""
        return f"sha256:{hashlib.sha256(self.content).hexdigest()}"


def build(folder: Path, epoch: int) -> ImageLayer:
    """The files of a folder as a layer, as if all were written at `epoch`, in seconds since 1970."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in _paths(folder):
            _add(tar, path, path.relative_to(folder).as_posix(), epoch)
    plain = buffer.getvalue()
    diff_id = f"sha256:{hashlib.sha256(plain).hexdigest()}"
    return ImageLayer(content=gzip.compress(plain, compresslevel=_LEVEL, mtime=0), diff_id=diff_id)


def _paths(folder: Path) -> Iterator[Path]:
    """All paths below a folder by their names, a folder before what it holds; links are not followed."""
    for path in sorted(folder.iterdir()):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _paths(path)


def _add(tar: tarfile.TarFile, path: Path, name: str, epoch: int) -> None:
    facts = path.lstat()
    info = tarfile.TarInfo(name)
    info.mode, info.mtime = stat.S_IMODE(facts.st_mode) & _WITHOUT_PRIVILEGES, epoch
    if stat.S_ISLNK(facts.st_mode):
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, str(path.readlink()), 0o777
        tar.addfile(info)
    elif stat.S_ISDIR(facts.st_mode):
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
    else:
        info.size = facts.st_size
        with path.open("rb") as content:
            tar.addfile(info, content)
