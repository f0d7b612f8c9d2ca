"""The descriptions of stored outputs, which the wrapper of a container writes beside its result (ADR 0064). Pure."""

import re

from pydantic import ValidationError
from torpor_crds.models.files import DIGEST, StoredFile

from torpor_operator.taskrun.document_fields import InvalidDocumentError

_DIGEST = re.compile(DIGEST["pattern"])


def parse(body: object, declared: frozenset[str]) -> tuple[StoredFile, ...]:
    """The descriptions under the key `files`. `declared` are the outputs of the task. Raises InvalidDocumentError."""
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
