"""The folder of a local run: `.torpor/runs/NAME` unless the user names another."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torpor_cli import errors

HOME = Path(".torpor")
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""The letters of names that the API server generates."""
_LENGTH = 5
_MOST = 10_000


def named(workflow: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Workflow with a name: its own, or one that is generated as the API server does."""
    metadata = dict(workflow["metadata"])
    prefix = metadata.pop("generateName", None)
    if not metadata.get("name"):
        metadata["name"] = f"{prefix}{''.join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))}"
    return {**workflow, "metadata": metadata}


def check(chosen: str | None) -> None:
    """Raise CliError if another run uses or has the chosen folder."""
    from torpor_local import folder, options  # noqa: PLC0415 - an extra of this package

    try:
        if chosen is not None:
            folder.check_is_free(Path(chosen))
    except options.LocalRunError as error:
        raise errors.CliError(str(error)) from error


def create(name: str, chosen: str | None) -> Path:
    """Create the folder of a run and return it; without a choice, a new one in `.torpor/runs`. Raises CliError."""
    try:
        if chosen is not None:
            folder = Path(chosen)
            folder.mkdir(parents=True, exist_ok=True)
            return folder
        return _new(name)
    except OSError as error:
        raise errors.CliError(f"{error.filename} cannot be created: {error.strerror}; choose a --folder") from error


def _new(name: str) -> Path:
    runs = HOME / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    ignore = HOME / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
    for number in range(1, _MOST):
        folder = runs / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir(mode=0o700)  # logs and results are the user's alone
        except FileExistsError:
            continue
        return folder
    raise errors.CliError(f"{runs} has {_MOST} runs named {name}; delete some, or choose a --folder")
