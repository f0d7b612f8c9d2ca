"""The parts of an outcome document: objects with known keys, values in messages, and descriptions of files. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from torpor_crds.models.files import DIGEST, StoredFile
from torpor_wire import canonical

_DIGEST = re.compile(DIGEST["pattern"])
_SHOWN_MAX = 100


class InvalidDocumentError(ValueError):
    """A part of the document that is invalid."""


def object_with(value: object, what: str, known: set[str]) -> Mapping[str, Any]:
    """The value as an object with no other than the known keys. Raises InvalidDocumentError."""
    if not isinstance(value, dict):
        raise InvalidDocumentError(f"{what} is {shown(value)}: write a JSON object")
    if unknown := value.keys() - known:
        names = ", ".join(sorted(f'"{name}"' for name in known))
        raise InvalidDocumentError(f"{what} has the unknown key {shown(min(unknown))}: the keys are {names}")
    return value


def shown(value: object) -> str:
    """The value as JSON, shortened for a message."""
    text = canonical.plain(value)
    return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "..."


def stored_files(body: object, declared: frozenset[str]) -> tuple[StoredFile, ...]:
    """The descriptions of outputs under the key `files`, which the wrapper writes (ADR 0064).

    `declared` are the outputs of the task. Raises InvalidDocumentError.
    """
    if not declared or not isinstance(body, list):
        raise InvalidDocumentError('"files" is for torpor-tool, in a task with files.out')
    try:
        files = tuple(StoredFile.model_validate(entry) for entry in body[: len(declared) + 1])
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise InvalidDocumentError(
            f'"files.{place}": {error.errors()[0]["msg"]}; torpor-tool writes this key'
        ) from error
    names = [file.name for file in files]
    if len({*names}) < len(names) or not declared.issuperset(names):
        raise InvalidDocumentError('"files" names an output twice, or one that files.out does not have')
    if not all(_DIGEST.fullmatch(file.digest) for file in files):  # readers build a URL from it
        raise InvalidDocumentError('"files" has a digest that is not the SHA-256 in hexadecimal')
    return files
