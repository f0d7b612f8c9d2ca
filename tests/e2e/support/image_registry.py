"""An image registry in a container: this machine pushes to it, and the nodes of a kind cluster pull from it.

The program is Debian's docker-registry, unpacked and not installed (ADR 0007). The container uses the base image of
Torpor's images, because the image of a registry cannot be pulled without a registry.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from torpor_demo import cluster
from torpor_dev import command
from torpor_dev.offline import debian

_PROGRAM = "docker-registry"
_CONFIGURATION = """\
version: 0.1
storage: {filesystem: {rootdirectory: /registry}}
http: {addr: ":5000"}
"""
# The configuration of a registry without TLS on a node: a file with the address of the registry's name. kind's own node
# image reads such files by default. A node image that is built here has containerd 1.6, which does not.
_TRUST = """\
set -e
mkdir -p "/etc/containerd/certs.d/$1"
echo "[host.\\"http://$2:5000\\"]" > "/etc/containerd/certs.d/$1/hosts.toml"
config=/etc/containerd/config.toml
if grep -q '^version = 2' $config && ! grep -q config_path $config; then
  printf '[plugins."io.containerd.grpc.v1.cri".registry]\\nconfig_path = "/etc/containerd/certs.d"\\n' >> $config
  systemctl restart containerd
fi
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRegistry:
    """A running registry; the names of its images begin with `name`, on this machine and on the nodes."""

    container: str
    name: str

    def trusted_by(self, node: str) -> None:
        """Configure a node of kind to pull from this registry."""
        script = ("sh", "-s", self.name, self.container)
        command.run("docker", "exec", "-i", node, *script, limit=60, stdin=_TRUST)


@contextmanager
def started(container: str, folder: Path) -> Iterator[ImageRegistry]:
    """Run a registry on the Docker network `kind`, which must exist. This machine reaches it on loopback."""
    program = _program(folder)
    configuration = folder / "config.yml"
    configuration.write_text(_CONFIGURATION)
    remove(container)
    publish = ("--network", "kind", "--publish", "127.0.0.1::5000")
    serve = ("/docker-registry", "serve", "/config.yml")
    command.run("docker", "create", "--name", container, *publish, cluster.base_image(), *serve, limit=60)
    try:
        command.run("docker", "cp", program, f"{container}:/docker-registry", limit=60)
        command.run("docker", "cp", configuration, f"{container}:/config.yml", limit=60)
        command.run("docker", "start", container, limit=60)
        address = command.run("docker", "port", container, "5000/tcp", limit=60).split()[0]
        try:
            yield ImageRegistry(container=container, name=address)
        finally:
            _forget(address)
    finally:
        remove(container)


def remove(container: str) -> None:
    """Remove the container with its images."""
    if command.succeeds("docker", "container", "inspect", container, limit=60):
        command.run("docker", "rm", "--force", "--volumes", container, limit=120)


def _forget(address: str) -> None:
    """Remove the registry's names from the images of this machine; their layers stay for the next build."""
    names = command.run("docker", "images", "--format", "{{.Repository}}:{{.Tag}}", f"{address}/*", limit=60).split()
    if names:
        command.run("docker", "rmi", "--no-prune", *names, limit=120)


def _program(folder: Path) -> Path:
    on_path = shutil.which(_PROGRAM)
    return Path(on_path) if on_path else debian.unpack(debian.fetch(_PROGRAM), folder) / "usr/bin" / _PROGRAM
