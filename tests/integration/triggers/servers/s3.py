"""An S3 server over a folder: versitygw, built once from the Go module proxy (ADR 0007)."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from obstore.store import S3Store
from torpor_dev.offline import golang

from tests.integration.triggers.servers import process
from tests.integration.triggers.servers.process import ServerProcess
from tests.support.ports import free_port

ACCESS_KEY, SECRET_KEY, REGION = "torpor", "t1red-s3cret", "us-east-1"
BUCKET = "drops"


@dataclass(frozen=True, slots=True, kw_only=True)
class S3:
    """A running server with one bucket."""

    process: ServerProcess

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.process.port}"

    def store(self) -> S3Store:
        """Of somebody beside the triggers."""
        return S3Store(
            BUCKET,
            endpoint=self.endpoint,
            region=REGION,
            access_key_id=ACCESS_KEY,
            secret_access_key=SECRET_KEY,
            client_options={"allow_http": True},
        )


def variables(server: S3) -> dict[str, str]:
    """The environment in which a program finds the server and may use it."""
    return {
        "AWS_ENDPOINT": server.endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    }


@contextmanager
def started(data: Path | None = None) -> Iterator[S3]:
    """Run a server. `data` is a new folder for its objects."""
    built = golang.build(golang.VERSITYGW)
    with process.folder() as folder:
        program = folder / "versitygw"
        shutil.copy(built, program)
        # Attributes beside the files, since not every file system keeps them.
        data = data or folder / "data"
        for path in (data, data / BUCKET, folder / "attributes"):
            path.mkdir()
            process.own(path)
        port = free_port()
        server = ServerProcess(
            argv=[
                str(program),
                *("--port", f"127.0.0.1:{port}", "--region", REGION),
                *("posix", "--sidecar", str(folder / "attributes"), str(data)),
            ],
            port=port,
            folder=folder,
            environment={**os.environ, "ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY},
            answers=process.listens,
        )
        server.start()
        try:
            yield S3(process=server)
        finally:
            server.kill()
