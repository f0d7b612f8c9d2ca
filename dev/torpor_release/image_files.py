"""The files of the images, for one processor: Debian with Python, third-party packages, Torpor's packages, the runtime.

Nothing is emulated: Debian packages are unpacked, wheels of the other processor are unpacked by uv, and Go compiles for
it. Bytecode does not depend on the processor. Must not write outside of the folder that is given.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from torpor_dev import command
from torpor_dev.console import DevError
from torpor_dev.offline import golang

from torpor_release import debian_packages
from torpor_release.version import ROOT

HOME = "opt/torpor"
PYTHON = "3.11"
SITE = f"{HOME}/lib/python{PYTHON}/site-packages"
_UV = ROOT / ".tools/bin/uv"
_PLATFORMS = {"amd64": "x86_64-manylinux_2_36", "arm64": "aarch64-manylinux_2_36"}
_MERGED = ("bin", "lib", "lib64", "sbin")
_UNUSED = (
    *(f"usr/share/{name}" for name in ("man", "locale", "info", "lintian", "bug", "bash-completion", "applications")),
    *(f"usr/share/{name}" for name in ("pixmaps", "debianutils", "menu", "gdb", "gcc")),
    *(
        f"usr/lib/python{PYTHON}/{name}"
        for name in ("EXTERNALLY-MANAGED", "idlelib", "turtledemo", "test", "pydoc_data")
    ),
    *("usr/lib/systemd", "etc/cron.daily", "var/cache", "boot", "home", "media", "mnt", "srv"),
)
_USERS = "root:x:0:0:root:/root:/usr/sbin/nologin\ntorpor:x:65532:65532:Torpor:/tmp:/usr/sbin/nologin\n"
_GROUPS = "root:x:0:\ntorpor:x:65532:\n"
_PIP = f"#!/{HOME}/bin/python\nimport sys\nfrom pip._internal.cli.main import main\nsys.exit(main())\n"
_LIMIT = 900


def debian(root: Path, architecture: str, packages: Sequence[debian_packages.DebianPackage]) -> None:
    """Debian with Python and a shell, and without a package manager."""
    for name in _MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    status = root / "var/lib/dpkg/status.d"
    files = debian_packages.fetch(packages, architecture)
    for package, file in zip(packages, files, strict=True):
        _unpack(file, root)
        # Where scanners of images look for packages that no dpkg has installed.
        status.mkdir(parents=True, exist_ok=True)
        (status / package.name).write_text(command.run("dpkg-deb", "--field", file, limit=_LIMIT))
    _configure(root)
    compile_python(root / f"usr/lib/python{PYTHON}", root)


def _unpack(file: Path, root: Path) -> None:
    tar = ("tar", "-x", "--keep-directory-symlink", "--no-same-owner", "-C", root)
    command.pipe(("dpkg-deb", "--fsys-tarfile", file), tar, limit=_LIMIT)


def _authorities(root: Path) -> str:
    """The authorities of web servers, as the script of Debian's package joins them."""
    return "".join(path.read_text() for path in sorted((root / "usr/share/ca-certificates").rglob("*.crt")))


def _configure(root: Path) -> None:
    """What the scripts of the packages would have done, and no more."""
    for name, target in (("python", f"python{PYTHON}"), ("python3", f"python{PYTHON}"), ("sh", "dash")):
        link = root / "usr/bin" / name
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    _write(root / "etc/ssl/certs/ca-certificates.crt", _authorities(root))
    _write(root / "etc/passwd", _USERS)
    _write(root / "etc/group", _GROUPS)
    (root / "tmp").mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    for name in _UNUSED:
        shutil.rmtree(root / name) if (root / name).is_dir() else (root / name).unlink(missing_ok=True)
    for page in (root / "usr/share/doc").rglob("*"):
        if page.is_file() and page.name != "copyright":
            page.unlink()


def third_party(root: Path, architecture: str, requirements: str) -> None:
    """The packages of a requirements text, with hashes, in the environment /opt/torpor."""
    home = root / HOME
    (home / "bin").mkdir(parents=True)
    for name in ("python", "python3", f"python{PYTHON}"):
        (home / "bin" / name).symlink_to(f"/usr/bin/python{PYTHON}")
    _write(home / "pyvenv.cfg", f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {PYTHON}\n")
    _write(home / "bin/pip", _PIP, mode=0o755)
    listed = root.with_suffix(".txt")
    listed.write_text(requirements + (ROOT / "worker-image/pip.txt").read_text())
    _install(root, architecture, "--require-hashes", "-r", str(listed))


def own(root: Path, architecture: str, names: Sequence[str], wheels: Path) -> None:
    """Torpor's packages, from their wheels."""
    _install(root, architecture, "--no-index", "--find-links", str(wheels), *names)


def _install(root: Path, architecture: str, *words: str) -> None:
    site = root / SITE
    options: tuple[str | Path, ...] = (
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--target",
        site,
        "--link-mode",
        "copy",
    )
    platform = ("--python", sys.executable, "--python-version", PYTHON, "--python-platform", _PLATFORMS[architecture])
    command.run(_UV, "pip", "install", *options, *platform, *words, limit=_LIMIT)
    shutil.rmtree(site / "bin", ignore_errors=True)  # scripts name the interpreter of this machine
    for path in (site / ".lock", *site.glob("*.dist-info/direct_url.json"), *site.glob("*.dist-info/uv_cache.json")):
        path.unlink(missing_ok=True)
    for record in site.glob("*.dist-info/RECORD"):
        kept = [line for line in record.read_text().splitlines() if not line.startswith(("../", "bin/"))]
        record.write_text(
            "\n".join(sorted(line for line in kept if "direct_url" not in line and "uv_cache" not in line))
        )
    compile_python(site, root)


def compile_python(folder: Path, root: Path) -> None:
    """Compile the modules of a folder, with the paths that they have in the image and with hashes instead of times."""
    words = ("-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", root, "-p", "/")
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONHASHSEED": "0"}
    # Some packages have files for other versions of Python, which this one cannot compile.
    subprocess.run([sys.executable, *words, folder], check=False, env=env, stdout=subprocess.DEVNULL, timeout=_LIMIT)
    if not any(folder.rglob("__pycache__/*.pyc")):
        raise DevError(f"nothing was compiled in {folder}")


def runtime(
    root: Path, architecture: str, packages: Sequence[debian_packages.DebianPackage], pythons: Sequence[str]
) -> None:
    """What the operator mounts into pods of any image: torpor-tool, certificates, and the runtime with bytecode."""
    words: tuple[str | Path, ...] = (ROOT / "worker-image/assemble.py", root, *pythons)
    command.run(sys.executable, *words, limit=_LIMIT)
    golang.cross_compile(golang.TORPOR_TOOL, root / "torpor-tool", architecture)
    (root / "torpor-tool").chmod(0o755)
    with tempfile.TemporaryDirectory() as folder:
        certificates = [package for package in packages if package.name == "ca-certificates"]
        for file in debian_packages.fetch(certificates, architecture):
            _unpack(file, Path(folder))
        _write(root / "ca-certificates.crt", _authorities(Path(folder)))


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
