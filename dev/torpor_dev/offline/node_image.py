"""kind's node image: the official one, else one built from Go modules and Debian packages.

A node image built here holds what kind's does: systemd, containerd, kubeadm, kubelet, and the images of the
control plane, of cluster DNS and of a volume provisioner, unpacked. It is kept as a tar beside the engine's
copy, since an engine may lose its data.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from torpor_dev import cache, command, engine, host, versions
from torpor_dev.console import step
from torpor_dev.offline import golang, image_archive, rootfs

_PACKAGES = (
    *("systemd", "conntrack", "iptables", "nftables", "iproute2", "ethtool", "util-linux", "mount", "kmod"),
    *("libseccomp2", "pigz", "e2fsprogs", "bash", "ca-certificates", "curl", "jq", "procps"),
    *("containerd", "runc", "containernetworking-plugins", "busybox-static"),
)
_CHANGES = ("ENV container=docker", 'ENTRYPOINT ["/usr/local/bin/entrypoint","/sbin/init"]')
_STOP_SIGNAL = "SIGRTMIN+3"  # systemd takes SIGTERM for a request to run itself again
_KIND_FILES = f"sigs.k8s.io/kind@{versions.KIND}"
_DATA = cache.SOURCES / "node"
_COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")
_IPTABLES = ("iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeImage:
    """An image that exists in the local engine; `official` is kind's own, with its own network plugin."""

    name: str
    id: str
    official: bool


def ensure(machine: host.HostFacts) -> NodeImage:
    """A node image in the local engine, made by whatever this machine allows."""
    official, local = versions.NODE_IMAGE, f"torpor-dev/node-base:{fingerprint(machine)}"
    # kind's image starts kube-proxy privileged, which needs a capability that this machine may lack.
    candidates = [official, local] if machine.sys_resource else [local]
    with cache.lock(cache.folder("images") / "node.lock"):
        name = next((each for each in candidates if engine.image_id(each)), None)
        if name is None:
            name = _obtain(machine, official, local)
    return NodeImage(name=name, id=engine.image_id(name) or name, official=name == official)


def fingerprint(machine: host.HostFacts) -> str:
    """What a node image built here depends on, as twelve hex digits."""
    go = cache.SOURCES / "go"
    sources = [Path(__file__), *_DATA.iterdir(), *go.glob("*/*.go"), go / "go.mod"]
    return cache.fingerprint(sources, versions.KUBERNETES, _KIND_FILES, *_PACKAGES, str(machine.sys_resource))


def _obtain(machine: host.HostFacts, official: str, local: str) -> str:
    tar = _tar(machine)
    if machine.sys_resource and not tar.exists() and engine.can_pull():
        with step(f"pulling {official}"):
            command.run("docker", "pull", "--quiet", official, limit=1800)
        return official
    if not tar.exists():
        _build(machine)
    with step(f"loading {local}"):
        _load(tar, local)
    return local


def _tar(machine: host.HostFacts) -> Path:
    return cache.folder("images") / f"node-{fingerprint(machine)}.tar"


def _load(tar: Path, image: str) -> None:
    """Import the tar; its stop signal takes a container, since `docker import` cannot set it."""
    rootfs.load(tar, image, _CHANGES)
    container = command.run("docker", "create", "--stop-signal", _STOP_SIGNAL, image, limit=120).strip()
    command.run("docker", "commit", container, image, limit=300)
    command.run("docker", "rm", container, limit=120)


def _build(machine: host.HostFacts) -> None:
    kube = golang.build(golang.KUBE)
    kubeadm = golang.build(golang.KUBEADM)
    with rootfs.debian_root("node", _PACKAGES, machine) as root:
        with step("adding Kubernetes to the node image"):
            _copy_kind_files(root)
            _install(kube, root / "usr/local/bin/kube")
            _install(kubeadm, root / "usr/bin/kubeadm")
            if not machine.sys_resource:
                _install(golang.build(golang.LESSCAPS), root / "usr/local/sbin/runc")
            _finish(root, machine)
            _import(root, kube)
        with step("packing the node image"):
            rootfs.pack(root, _tar(machine))


def _copy_kind_files(root: Path) -> None:
    files = golang.module_folder(_KIND_FILES) / "images" / "base" / "files"
    shutil.copytree(files, root, dirs_exist_ok=True, copy_function=shutil.copyfile)
    for copied in (root / file.relative_to(files) for file in files.rglob("*")):
        copied.chmod(0o755 if copied.is_dir() else 0o644)


def _finish(root: Path, machine: host.HostFacts) -> None:
    env = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "KUBERNETES": versions.KUBERNETES,
        "PAUSE": versions.PAUSE,
        "RESTRICT_OOM": "false" if machine.sys_resource else "true",
    }
    shutil.copyfile(_DATA / "refuse-early.service", root / "etc/systemd/system/refuse-early.service")
    script = (_DATA / "finish.sh").read_text()
    command.run("chroot", root, "sh", "-s", limit=120, env=env, stdin=script)
    shutil.copyfile(_DATA / "storage.yaml", root / "kind/manifests/default-storage.yaml")


def _import(root: Path, kube: Path) -> None:
    (root / "var/lib/containerd").mkdir(parents=True, exist_ok=True)
    archives = []
    for number, image in enumerate(_images(root, kube)):
        archives.append(cache.folder("build") / f"image-{number}.tar")
        image_archive.write(image, archives[-1])
    command.run("unshare", "--mount", "sh", _DATA / "import.sh", root, *archives, limit=300)
    for written in archives:
        written.unlink()


def _images(root: Path, kube: Path) -> list[image_archive.ArchivedImage]:
    """The images that kubeadm and the provisioner's manifest name."""
    tags = command.run(
        *(golang.build(golang.KUBEADM), "config", "images", "list", "--kubernetes-version", versions.KUBERNETES),
        limit=60,
        env={**os.environ, "HOME": str(cache.folder("build"))},
    ).split()
    named = {each: tuple(tag for tag in tags if f"/{each}:" in tag) for each in ("etcd", "coredns", "pause")}
    components = tuple(f"registry.k8s.io/{each}:{versions.KUBERNETES}" for each in _COMPONENTS)
    return [
        image_archive.ArchivedImage(
            names=(*components, *named["etcd"]),
            files={"usr/local/bin/kube": kube, **_iptables(root)},
            links={
                **{f"usr/local/bin/{each}": "kube" for each in (*_COMPONENTS, "etcd")},
                **{f"usr/sbin/{each}": "xtables-nft-multi" for each in _IPTABLES},
            },
            entrypoint=(),
        ),
        _single(named["coredns"], golang.COREDNS, "coredns"),
        _single(named["pause"], golang.PAUSE, "pause"),
        image_archive.ArchivedImage(
            names=("localhost/local-path-provisioner:dev",),
            files={
                "usr/local/bin/local-path-provisioner": golang.build(golang.PROVISIONER),
                "bin/busybox": root / "bin/busybox",
            },
            links={f"bin/{each}": "busybox" for each in ("sh", "mkdir", "rm")},
            entrypoint=(),
        ),
    ]


def _single(names: tuple[str, ...], program: golang.GoProgram, place: str) -> image_archive.ArchivedImage:
    return image_archive.ArchivedImage(
        names=names, files={place: golang.build(program)}, links={}, entrypoint=(f"/{place}",)
    )


def _iptables(root: Path) -> dict[str, Path]:
    """What kube-proxy needs of iptables, with its libraries: a fraction of the node's own file system."""
    program = "usr/sbin/xtables-nft-multi"
    extensions = [str(each.relative_to(root)) for each in root.glob("usr/lib/*/xtables/*.so")]
    # The extensions too: `statistic`, which spreads a Service over its pods, needs a library that iptables does not.
    listed = command.run("chroot", root, "ldd", *(f"/{each}" for each in (program, *extensions)), limit=30)
    libraries = linked(listed)
    return {name: (root / name).resolve() for name in (program, *libraries, *extensions)}


def linked(listing: str) -> set[str]:
    """The libraries that ldd found for one program or several, as paths without the leading slash."""
    words = (word for line in listing.splitlines() for word in line.split())
    return {word.lstrip("/") for word in words if word.startswith("/") and not word.endswith(":")}


def _install(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    target.chmod(0o755)
