"""Defaults of tasks that a namespace or the installation sets, as JSON. Pure (ADR 0057)."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import ValidationError
from torpor_crds.models.base import Model
from torpor_crds.models.defaults import TaskDefaults
from torpor_wire import constants


class DefaultsError(ValueError):
    """Why a text does not have defaults, as a sentence."""


@lru_cache(maxsize=256)
def parse_defaults(text: str) -> TaskDefaults | None:
    """The defaults; None for an empty text. Raises DefaultsError."""
    if not text.strip():
        return None
    if len(text.encode(errors="replace")) > constants.DEFAULTS_MAX:
        raise DefaultsError(f"they have more than {constants.DEFAULTS_MAX} bytes")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DefaultsError(f"they are not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise DefaultsError('they are not a JSON object, such as {"retries": {"limit": 2}}')
    try:
        defaults = TaskDefaults.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise DefaultsError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if unknown := _unknown(body, defaults):
        raise DefaultsError(f"they have no field {unknown}")
    return defaults


def _unknown(body: Mapping[str, Any], model: Model) -> str:
    """The path of the first field that the model does not have; empty if there is none."""
    names = {field.alias or name: name for name, field in type(model).model_fields.items()}
    for alias, value in body.items():
        if alias not in names:
            return alias
        part = getattr(model, names[alias])
        if isinstance(part, Model) and isinstance(value, dict) and (inner := _unknown(value, part)):
            return f"{alias}.{inner}"
    return ""
