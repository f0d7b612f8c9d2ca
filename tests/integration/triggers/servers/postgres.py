"""PostgreSQL: this machine's, else Debian's, without installing it."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
from torpor_dev.offline import debian

from tests.integration.triggers.servers import process
from tests.integration.triggers.servers.process import ServerProcess
from tests.support.ports import free_port

USER, PASSWORD = "torpor", "c0rrect-horse"
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "jit": "off",
    "max_connections": "40",
    "shared_buffers": "16MB",
    "shared_preload_libraries": "pg_stat_statements",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Postgres:
    """A running server with one user, who has a password."""

    process: ServerProcess

    @property
    def url(self) -> str:
        return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{self.process.port}/postgres"

    async def execute(self, *statements: str) -> None:
        """As somebody beside the triggers."""
        connection = await asyncpg.connect(self.url)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    async def value(self, query: str) -> object:
        return await fetched(self.url, query)


async def fetched(url: str, query: str) -> object:
    """The one value that a query gives, over a connection of its own."""
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


@contextmanager
def started() -> Iterator[Postgres]:
    with process.folder() as folder:
        binaries, environment = _programs(folder)
        _initialize(binaries, environment, folder)
        port = free_port()
        settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        server = ServerProcess(
            argv=[str(binaries / "postgres"), "-D", str(folder / "data"), "-p", str(port), *settings],
            port=port,
            folder=folder,
            environment=environment,
            answers=lambda port: _answers(binaries, environment, port),
        )
        server.start()
        try:
            yield Postgres(process=server)
        finally:
            server.kill()


@contextmanager
def programs() -> Iterator[tuple[Path, dict[str, str]]]:
    """The folder of the programs, such as pg_dump, and the environment that they need."""
    with process.folder() as folder:
        yield _programs(folder)


def _programs(folder: Path) -> tuple[Path, dict[str, str]]:
    """Where they are; Debian keeps the server's off PATH."""
    candidates = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    if on_path or candidates:
        initdb = Path(on_path).resolve() if on_path else candidates[-1]
        return initdb.parent, dict(debian.environment(Path("/nonexistent")))
    # Without the compiler that PostgreSQL uses for long queries only.
    root = debian.unpack(debian.fetch("postgresql", without=("libllvm",)), folder / "programs")
    root.chmod(0o755)
    return next(root.glob("usr/lib/postgresql/*/bin")), dict(debian.environment(root))


def _answers(programs: Path, environment: dict[str, str], port: int) -> bool:
    """It listens a while before it takes anybody in."""
    command = [str(programs / "pg_isready"), "--quiet", "-h", "127.0.0.1", "-p", str(port)]
    return subprocess.run(command, check=False, env=environment).returncode == 0


def _initialize(programs: Path, environment: dict[str, str], folder: Path) -> None:
    password = folder / "password"
    password.write_text(PASSWORD)
    process.own(password)
    command = [programs / "initdb", "-D", folder / "data", "-U", USER, "--pwfile", password, "--auth=scram-sha-256"]
    done = subprocess.run(
        [*map(str, command), "--no-sync", "--encoding=UTF8", "--locale=C"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=folder,
        user=process.USER,
        group=process.USER,
        extra_groups=process.GROUPS,
    )
    assert done.returncode == 0, done.stderr
