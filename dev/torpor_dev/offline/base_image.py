"""Pulls the official Python image, or builds one with Debian's Python. Torpor's images are built from it.

Both have `python` and `pip` on PATH. The local one has the CA bundle of the host. Without it, a build behind a private
CA could not reach the package index.
"""

import os
from pathlib import Path

from torpor_dev import cache, command, engine, host, versions
from torpor_dev.console import step
from torpor_dev.offline import rootfs

OFFICIAL = f"python:{versions.PYTHON}-slim-{versions.DEBIAN}"
_PACKAGES = ("python3", "python3-venv", "python3-pip", "ca-certificates")
_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
_CHANGES = (
    f"ENV LANG=C.UTF-8 SSL_CERT_FILE={_BUNDLE} PIP_CERT={_BUNDLE} PIP_ROOT_USER_ACTION=ignore",
    'CMD ["python3"]',
)


def ensure(machine: host.HostFacts) -> str:
    """The name of a Python image in the local engine."""
    local = f"torpor-dev/python:{versions.PYTHON}-{_fingerprint()}"
    with cache.lock(cache.folder("images") / "python.lock"):
        for image in (OFFICIAL, local):
            if engine.image_id(image):
                return image
        tar = cache.folder("images") / f"python-{_fingerprint()}.tar"
        if not tar.exists():
            if engine.can_pull():
                return _pull()
            with rootfs.debian_root("python", _PACKAGES, machine) as root:
                _finish(root)
                rootfs.pack(root, tar)
        with step(f"loading {local}"):
            rootfs.load(tar, local, _CHANGES)
    return local


def _pull() -> str:
    with step(f"pulling {OFFICIAL}"):
        command.run("docker", "pull", "--quiet", OFFICIAL, limit=900)
    return OFFICIAL


def _finish(root: Path) -> None:
    (root / "usr/bin/python").symlink_to("python3")
    (root / "etc/pip.conf").write_text(_pip_conf(os.environ.get("PIP_INDEX_URL")))
    if _BUNDLE.exists():
        root.joinpath(*_BUNDLE.parts[1:]).write_bytes(_BUNDLE.read_bytes())


def _pip_conf(index: str | None) -> str:
    """The configuration of pip: Debian's Python rejects pip outside a virtual environment by default."""
    lines = ["[global]", "break-system-packages = true", "disable-pip-version-check = true"]
    return "\n".join([*lines, *([f"index-url = {index}"] if index else [])]) + "\n"


def _fingerprint() -> str:
    bundle = [_BUNDLE] if _BUNDLE.exists() else []
    return cache.fingerprint(bundle, *_PACKAGES, *_CHANGES, _pip_conf(os.environ.get("PIP_INDEX_URL")))
