"""Reads Workflows and params from YAML or JSON, as the API server would, and within the bounds of `torpor lint`."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torpor_wire import constants

from torpor_cli import errors

if TYPE_CHECKING:
    from torpor_cli.linting.finding import FilePosition

_SIZE_MAX = 32 * 1024**2
"""Characters of a file. What its anchors expand to has the same limit."""


def read(source: str) -> list[dict[str, Any]]:
    """Return the Workflows of a file, or of standard input for `-`. Raises UsageError and CliError."""
    workflows = documents(source, _text(source))
    for place, document in enumerate(workflows, start=1):
        _check(source, place, document)
    if not workflows:
        raise errors.CliError(f"{source} has no documents")
    return workflows


def mapping(path: str) -> dict[str, Any]:
    """Return the mapping of a YAML or JSON file. Raises CliError."""
    values = documents(path, _text(path))
    if len(values) != 1 or not isinstance(values[0], Mapping):
        raise errors.CliError(f"{path} must be one mapping of params to values")
    return dict(values[0])


def params(path: str | None) -> dict[str, Any]:
    """Return the values of `--params-file`, none without the option. Raises CliError."""
    return mapping(path) if path else {}


def values(source: str) -> list[Any]:
    """Return the values of all documents of a file, or of standard input for `-`. Raises CliError."""
    return documents(source, _text(source))


def _text(source: str) -> str:
    """Return the text of a file or of standard input. Raises CliError."""
    try:
        if source == "-":
            text = sys.stdin.read(_SIZE_MAX + 1)
        else:
            with Path(source).open(encoding="utf-8-sig") as file:
                text = file.read(_SIZE_MAX + 1)
    except (OSError, UnicodeDecodeError) as error:
        cause = getattr(error, "strerror", None) or error
        raise errors.CliError(f"{source} cannot be read: {cause}") from error
    if len(text) > _SIZE_MAX:
        raise errors.CliError(f"{source} has more than {_SIZE_MAX:,} characters; split it")
    return text


def documents(source: str, text: str) -> list[Any]:
    """Return the values of all documents of a text. Raises CliError with the place that is not valid YAML."""
    from torpor_cli.linting import yaml_documents  # noqa: PLC0415 - yaml costs 50 ms

    values = []
    for document in yaml_documents.read(text):
        if isinstance(document, yaml_documents.InvalidYaml):
            raise _invalid(source, document.at, document.message)
        for problem in document.problems:
            raise _invalid(source, document.position(problem.path), problem.message)
        values.append(document.value)
    return values


def _invalid(source: str, at: "FilePosition", message: str) -> errors.CliError:
    return errors.CliError(f"{source}:{at.line}:{at.column}: invalid YAML: {message}")


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
