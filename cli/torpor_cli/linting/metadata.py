"""Checks the metadata of an object as the API server does: name, labels and annotations. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from torpor_cli.linting.finding import LintProblem, LintRule, Path, dotted
from torpor_cli.linting.schema import nearest, type_name

_FIELDS = (
    *("annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers"),
    *("generateName", "generation", "labels", "managedFields", "name", "namespace", "ownerReferences"),
    *("resourceVersion", "selfLink", "uid"),
)
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME_MAX = 253
_LABEL_MAX = 63
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = rf"({_QUALIFIED})?"
_NAME_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_KEY_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED}')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_VALUE}')"
)


def violations(metadata: Any) -> Iterator[LintProblem]:
    """Yield what is wrong with the metadata of a new object."""
    if not isinstance(metadata, dict):
        yield _problem(("metadata", "name"), "Required value: name or generateName is required")
        return
    for name in metadata:
        if name not in _FIELDS:
            message = f'unknown field "metadata.{name}"{nearest(name, _FIELDS)}'
            yield LintProblem(path=("metadata", name), rule=LintRule.UNKNOWN_FIELD, message=message)
    yield from _name(metadata)
    yield from _texts(metadata, "labels", _VALUE)
    yield from _texts(metadata, "annotations", None)


def _name(metadata: Mapping[str, Any]) -> Iterator[LintProblem]:
    if not (metadata.get("name") or metadata.get("generateName")):
        yield _problem(("metadata", "name"), "Required value: name or generateName is required")
    for key in ("name", "generateName"):
        value = metadata.get(key)
        path = ("metadata", key)
        if value is not None and not isinstance(value, str):
            yield _problem(path, f"Invalid value: {type_name(value)}: must be a string; quote it")
        elif value and len(value) > _NAME_MAX:
            yield _problem(path, f'Invalid value: "{value}": must be no more than {_NAME_MAX} characters')
        elif value and not re.fullmatch(_SUBDOMAIN, _complete(key, value)):
            yield _problem(path, f'Invalid value: "{value}": {_NAME_RULE}')


def _complete(key: str, value: str) -> str:
    """Return a prefix as the API server checks it: it may end with a dash."""
    return f"{value}a" if key == "generateName" else value


def _texts(metadata: Mapping[str, Any], field: str, pattern: str | None) -> Iterator[LintProblem]:
    texts = metadata.get(field) or {}
    if not isinstance(texts, dict):
        yield _problem(("metadata", field), f"Invalid value: {type_name(texts)}: must be an object")
        return
    for key, value in texts.items():
        at: Path = ("metadata", field)
        prefix, _, name = key.rpartition("/")
        if not re.fullmatch(_QUALIFIED, name) or len(name) > _LABEL_MAX:
            yield LintProblem(
                path=(*at, key), rule=LintRule.METADATA, message=f'{dotted(at)}: Invalid value: "{key}": {_KEY_RULE}'
            )
        elif prefix and not re.fullmatch(_SUBDOMAIN, prefix):
            yield LintProblem(
                path=(*at, key),
                rule=LintRule.METADATA,
                message=f'{dotted(at)}: Invalid value: "{key}": prefix part {_NAME_RULE}',
            )
        if not isinstance(value, str):
            message = f"{dotted((*at, key))}: Invalid value: {type_name(value)}: must be a string; quote it"
            yield LintProblem(path=(*at, key), rule=LintRule.METADATA, message=message)
        elif pattern is not None and (not re.fullmatch(pattern, value) or len(value) > _LABEL_MAX):
            message = f'{dotted(at)}: Invalid value: "{value}": {_VALUE_RULE}'
            yield LintProblem(path=(*at, key), rule=LintRule.METADATA, message=message)


def _problem(path: Path, text: str) -> LintProblem:
    return LintProblem(path=path, rule=LintRule.METADATA, message=f"{dotted(path)}: {text}")
