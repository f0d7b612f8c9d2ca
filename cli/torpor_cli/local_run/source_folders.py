"""The code of `source` in a local run: a ConfigMap of the file, or else the folder of its name beside the file."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Object = Mapping[str, Any]


def config_maps(spec: Object, others: Sequence[Object], beside: Path) -> list[dict[str, Any]]:
    """Return the ConfigMaps that `others` lacks, read from folders in `beside`, as kubectl create --from-file does.

    Without such a folder there is none, and the run is refused.
    """
    known = {one["metadata"]["name"] for one in others if one.get("kind") == "ConfigMap"}
    missing = [name for name in dict.fromkeys(names(spec)) if name not in known]
    return [_config_map(name, beside / name) for name in missing if (beside / name).is_dir()]


def of_task(spec: Object, task: str, others: Sequence[Object], beside: Path, scratch: Path) -> Path | None:
    """Return the folder with the code of one task, None if it has no `source`.

    The folder beside the file is used itself, so that breakpoints of an editor hold. A ConfigMap of the file is written
    to `scratch`.
    """
    own: Object = next((one for one in spec.get("tasks") or () if one.get("name") == task), {})
    name = (own.get("source") or spec.get("source") or {}).get("configMap")
    if not isinstance(name, str):
        return None
    if (beside / name).is_dir():
        return beside / name
    from torpor_local.apiserver import config_maps as rules  # noqa: PLC0415 - most tasks have no such source

    for file, content in rules.files(next((one for one in others if _is_config_map(one, name)), {})).items():
        (scratch / file).write_bytes(content)
    return scratch


def problems(others: Sequence[Object]) -> Iterator[str]:
    """Yield what is wrong with ConfigMaps, whose keys become names of files."""
    found = [one for one in others if one.get("kind") == "ConfigMap"]
    if not found:
        return
    from torpor_local.apiserver import config_maps as rules  # noqa: PLC0415 - most files have none

    for one in found:
        if problem := rules.problem(None, one):
            yield f"ConfigMap {(one.get('metadata') or {}).get('name', '')} is invalid: {problem}"


def _is_config_map(body: Object, name: str) -> bool:
    return body.get("kind") == "ConfigMap" and (body.get("metadata") or {}).get("name") == name


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
