"""The folder of a local run, and the folders of its sources."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
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


def check_folder(chosen: str | None) -> None:
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


Object = Mapping[str, Any]


def config_maps(spec: Object, others: Sequence[Object], beside: Path) -> list[dict[str, Any]]:
    """Return the ConfigMaps that `others` lacks, read from folders in `beside`, as kubectl create --from-file does.

    Without such a folder there is none, and the run is refused.
    """
    known = by_name(others, "ConfigMap")
    missing = [name for name in dict.fromkeys(names(spec)) if name not in known]
    return [_config_map(name, beside / name) for name in missing if (beside / name).is_dir()]


def source_of_task(spec: Object, task: str, others: Sequence[Object], beside: Path, scratch: Path) -> Path | None:
    """Return the folder with the code of one task, None if it has no `source`.

    The folder beside the file is used itself, so that breakpoints of an editor hold. A ConfigMap of the file is written
    to `scratch`.
    """
    own: Object = next((entry for entry in spec.get("tasks") or () if entry.get("name") == task), {})
    name = (own.get("source") or spec.get("source") or {}).get("configMap")
    if not isinstance(name, str):
        return None
    if (beside / name).is_dir():
        return beside / name
    from torpor_local.apiserver import config_maps as rules  # noqa: PLC0415 - most tasks have no such source

    for file, content in rules.files(by_name(others, "ConfigMap").get(name, {})).items():
        (scratch / file).write_bytes(content)
    return scratch


def source_problems(others: Sequence[Object]) -> Iterator[str]:
    """Yield what is wrong with ConfigMaps, whose keys become names of files."""
    config_maps = [item for item in others if item.get("kind") == "ConfigMap"]
    if not config_maps:
        return
    from torpor_local.apiserver import config_maps as rules  # noqa: PLC0415 - most files have none

    for item in config_maps:
        if problem := rules.problem(None, item):
            yield f"ConfigMap {(item.get('metadata') or {}).get('name', '')} is invalid: {problem}"


def by_name(objects: Sequence[Object], kind: str) -> dict[str, Object]:
    """Return the objects of a kind by their names."""
    return {str((item.get("metadata") or {}).get("name")): item for item in objects if item.get("kind") == kind}


def names(spec: Object) -> Iterator[str]:
    """Yield the ConfigMaps that `source` of the Workflow and of its tasks name."""
    for place in (spec, *(spec.get("tasks") or ())):
        name = (place.get("source") or {}).get("configMap")
        if isinstance(name, str):
            yield name


def _config_map(name: str, folder: Path) -> dict[str, Any]:
    files = sorted(path for path in folder.iterdir() if path.is_file())
    data = {path.name: path.read_text(encoding="utf-8") for path in files if path.suffix == ".py"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
