"""Reads Workflows from YAML or JSON, as the API server would."""

import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from torpor_wire import constants

from kubectl_torpor import errors
from kubectl_torpor.yaml_format import scalars

_PLAIN = "!torpor-plain"
"""The tag of scalars without quotes and without a tag."""
_MERGE = re.compile(r"^<<$")
_ANYTHING = re.compile("")


def read(source: str) -> list[dict[str, Any]]:
    """Return the Workflows of a file, or of standard input for `-`. Raises UsageError and CliError."""
    found = [document for document in documents(source, _text(source)) if document is not None]
    for place, document in enumerate(found, start=1):
        _check(source, place, document)
    if not found:
        raise errors.CliError(f"{source} has no documents")
    return found


def mapping(path: str) -> dict[str, Any]:
    """Return the mapping of a YAML or JSON file. Raises CliError."""
    found = [document for document in documents(path, _text(path)) if document is not None]
    if len(found) != 1 or not isinstance(found[0], Mapping):
        raise errors.CliError(f"{path} must be one mapping of params to values")
    return dict(found[0])


def _text(source: str) -> str:
    try:
        return sys.stdin.read() if source == "-" else Path(source).read_text()
    except (OSError, UnicodeDecodeError) as error:
        cause = getattr(error, "strerror", None) or error
        raise errors.CliError(f"{source} cannot be read: {cause}") from error


def documents(source: str, text: str) -> list[Any]:
    """Return the values of all documents of a text. Raises CliError with the place that is no YAML."""
    import yaml  # noqa: PLC0415 - costs 50 ms

    try:
        return list(yaml.load_all(text, Loader=_loader()))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise errors.CliError(f"{source}{where}: invalid YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise errors.CliError(f"{source}: invalid YAML: {' '.join(str(error).split())}") from error


@cache
def _loader() -> Any:
    """Return a safe loader that reads scalars as kubectl does: 2026-11-20 is a string, and `y` is true."""
    import yaml  # noqa: PLC0415 - costs 50 ms

    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc, valid-type]
        """Reads plain scalars as kubectl does. Keys are text, as in JSON."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
            found = super().construct_mapping(node, deep)
            return {scalars.key_text(key): value for key, value in found.items()}

    Loader.yaml_implicit_resolvers = {"<": [("tag:yaml.org,2002:merge", _MERGE)], None: [(_PLAIN, _ANYTHING)]}
    Loader.add_constructor(_PLAIN, lambda _, node: scalars.resolve(node.value))
    return Loader


def _check(source: str, place: int, document: Any) -> None:
    if not isinstance(document, Mapping):
        raise errors.CliError(f"{source}: document {place} is not a mapping")
    kind, version = document.get("kind"), document.get("apiVersion")
    if not kind or not version:
        raise errors.CliError(f"{source}: document {place} has no apiVersion or no kind; `torpor lint` checks files")
    if kind != "Workflow" or version != constants.API_VERSION:
        raise errors.CliError(
            f"{source}: document {place} is {version} {kind}; `torpor submit` takes {constants.API_VERSION} Workflow"
        )
    for field in ("metadata", "spec"):
        if not isinstance(document.get(field), Mapping):
            raise errors.CliError(f"{source}: document {place} has no {field}")
