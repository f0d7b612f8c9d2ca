"""Host names that processes of these tests resolve, and that can be made unknown: Debian's libnss-wrapper.

It replaces the resolver of a process by a file. Programs without the C library, as those in Go, do not use it.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from torpor_dev import cache
from torpor_dev.offline import debian

API_SERVER = "kubernetes.default.svc"
DATABASE = "database.torpor.test"
_LIBRARY = "usr/lib/*/libnss_wrapper.so"


@dataclass(kw_only=True, eq=False)
class HostNames:
    """`variables` are of the environment of each process that uses the names."""

    file: Path
    library: Path
    changes: int = 0

    @classmethod
    def create(cls, folder: Path) -> "HostNames":
        """Let all names have the address of loopback."""
        unpacked = debian.unpack(debian.fetch("libnss-wrapper"), cache.folder("debian", "unpacked-nss-wrapper"))
        names = cls(file=folder / "hosts", library=next(unpacked.glob(_LIBRARY)))
        names._write(API_SERVER, DATABASE)
        return names

    @property
    def variables(self) -> Mapping[str, str]:
        return {"LD_PRELOAD": str(self.library), "NSS_WRAPPER_HOSTS": str(self.file)}

    @contextmanager
    def unknown(self) -> Iterator[None]:
        """Let no name have an address."""
        self._write("nothing.torpor.test")
        try:
            yield
        finally:
            self._write(API_SERVER, DATABASE)

    def _write(self, *names: str) -> None:
        """Write the names. Processes read the file again when its time changes, to the second."""
        self.changes += 1
        self.file.write_text(f"127.0.0.1 {' '.join(names)}\n")
        then = self.file.stat().st_mtime + 2 * self.changes
        os.utime(self.file, (then, then))
