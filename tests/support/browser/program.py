"""Finds Chromium: this machine's, else Debian's, unpacked without installing it. Must not download anything else."""

import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import Browser, async_playwright, expect
from torpor_dev import cache
from torpor_dev.console import DevError
from torpor_dev.offline import debian

PATIENCE = 90_000.0
"""Milliseconds to wait for what must appear: a machine may be busy, and only a test that fails waits so long."""
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_LAUNCHER = Path(__file__).with_name("launcher.py")
_PACKAGES = ("chromium-headless-shell", "chromium-common", "fonts-inter", "fonts-dejavu-core")
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{root}/usr/share/fonts</dir>
  <cachedir>{cache}</cachedir>
  <alias binding="same"><family>system-ui</family><prefer><family>Inter</family></prefer></alias>
  <alias binding="same"><family>sans-serif</family><prefer><family>Inter</family></prefer></alias>
  <alias binding="same"><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
"""


class NoBrowserError(Exception):
    """There is no Chromium here, and none can be fetched. The message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserProgram:
    """A browser that can be started."""

    executable: Path
    environment: Mapping[str, str]


def find() -> BrowserProgram:
    """Debian's Chromium with fonts of its own, so that screenshots are alike everywhere; else what is on PATH."""
    try:
        packages = debian.fetch(*_PACKAGES)
        folder = cache.folder("browser", cache.fingerprint(packages))
    except (DevError, OSError) as error:
        return _installed(f"Chromium cannot be fetched: {error}")
    root = folder / "programs"
    with cache.lock(folder / "lock"):
        if not (folder / "complete").exists():
            debian.unpack(packages, root)
            (folder / "fonts.conf").write_text(_FONTS.format(root=root, cache=folder / "font-cache"))
            (folder / "complete").touch()
    environment = {**debian.environment(root), "FONTCONFIG_FILE": str(folder / "fonts.conf")}
    return BrowserProgram(executable=next(root.glob("usr/lib/chromium/*headless*shell")), environment=environment)


@asynccontextmanager
async def started(program: BrowserProgram) -> AsyncIterator[Browser]:
    """The browser, without a window and without its sandbox, which root cannot have."""
    expect.set_options(timeout=PATIENCE)
    async with async_playwright() as playwright:
        with TemporaryDirectory() as folder:
            browser = await playwright.chromium.launch(
                executable_path=_launcher(Path(folder), program.executable),
                env=dict(program.environment),
                args=["--no-sandbox"],
            )
        try:
            yield browser
        finally:
            await browser.close()


def _launcher(folder: Path, executable: Path) -> Path:
    """A program that starts the browser by `launcher.py`."""
    path = folder / "chromium"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{_LAUNCHER}" "{executable}" "$@"\n')
    path.chmod(0o755)
    return path


def _installed(problem: str) -> BrowserProgram:
    on_path = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if on_path is None:
        raise NoBrowserError(problem)
    return BrowserProgram(executable=Path(on_path), environment=debian.environment(Path("/nonexistent")))
