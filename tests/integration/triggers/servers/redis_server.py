"""Redis: this machine's, else Debian's, without installing it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redis.asyncio import Redis
from torpor_dev.offline import debian

from tests.integration.triggers.servers import process
from tests.integration.triggers.servers.process import ServerProcess
from tests.support.ports import free_port

PASSWORD = "batt3ry-staple"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisServer:
    """A running server that asks for a password and forgets everything when it stops."""

    process: ServerProcess

    @property
    def url(self) -> str:
        return f"redis://:{PASSWORD}@127.0.0.1:{self.process.port}/0"

    def client(self) -> Redis:
        """Of somebody beside the triggers."""
        return Redis.from_url(self.url)


@contextmanager
def started() -> Iterator[RedisServer]:
    with process.folder() as folder:
        program, environment = _program(folder)
        port = free_port()
        options = {"port": port, "bind": "127.0.0.1", "requirepass": PASSWORD, "save": "", "dir": folder}
        server = ServerProcess(
            argv=[program, *(word for name, value in options.items() for word in (f"--{name}", str(value)))],
            port=port,
            folder=folder,
            environment=environment,
            answers=process.listens,
        )
        server.start()
        try:
            yield RedisServer(process=server)
        finally:
            server.kill()


def _program(folder: Path) -> tuple[str, dict[str, str]]:
    on_path = shutil.which("redis-server")
    if on_path:
        return on_path, dict(os.environ)
    root = debian.unpack(debian.fetch("redis-server"), folder / "programs")
    root.chmod(0o755)
    return str(root / "usr/bin/redis-server"), dict(debian.environment(root))
