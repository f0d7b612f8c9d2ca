"""A registry on this machine, small images in it, and key pairs of cosign."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from torpor_dev import command
from torpor_dev.offline import golang
from torpor_release import image_layer, signing
from torpor_release.image_layout import ImageLayout, PlatformImage

TAG = "1.0"
PASSWORD = "of-the-test"


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKeys:
    """A key pair of cosign."""

    private: str
    public: str


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a registry. The value is the path of its images."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words: list[str | Path] = [golang.build(golang.CRANE), "registry", "serve", "--address", f"127.0.0.1:{port}"]
    with (folder / "log").open("w") as output, subprocess.Popen(words, stdout=output, stderr=output) as process:
        try:
            _await_port(port, process)
            yield f"127.0.0.1:{port}/torpor"
        finally:
            process.terminate()


def key_pair(folder: Path) -> SigningKeys:
    """Create a key pair in a folder."""
    env = {**os.environ, "COSIGN_PASSWORD": PASSWORD}
    command.run(golang.build(golang.COSIGN), "generate-key-pair", limit=300, env=env, cwd=folder)
    return SigningKeys(private=str(folder / "cosign.key"), public=str(folder / "cosign.pub"))


def pushed(folder: Path, registry: str, name: str) -> str:
    """Push a small image for two processors; return its reference by digest."""
    (folder / "files").mkdir(parents=True)
    (folder / "files/name").write_text(name)
    layer = image_layer.build(folder / "files", 0)
    images = [PlatformImage(architecture=each, layers=[layer], config={}) for each in ("amd64", "arm64")]
    ImageLayout(folder / "images" / name).add(images, {}, 0)
    return signing.push(folder / "images", [name], registry, TAG)[name]


def _await_port(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 180
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            assert process.poll() is None, "the registry ended"
            assert time.monotonic() < deadline, "the registry does not answer"
            time.sleep(0.1)
        else:
            return
