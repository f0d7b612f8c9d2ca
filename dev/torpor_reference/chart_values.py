"""The values of the Helm chart: their defaults, and the descriptions of their schema. Pure but for the two files."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from torpor_reference.tables import Row, escaped, markdown

_HEADER = ("Value", "Default", "Meaning")


def table(chart: Path) -> str:
    """Every value of the chart in this folder, in the order of its schema."""
    schema = json.loads((chart / "values.schema.json").read_text())
    values = yaml.safe_load((chart / "values.yaml").read_text())
    return markdown(_HEADER, [*_rows(schema, values)])


def _rows(schema: Mapping[str, Any], values: Any, path: str = "") -> Iterator[Row]:
    for name, child in schema["properties"].items():
        at = f"{path}.{name}" if path else name
        default = values.get(name) if isinstance(values, Mapping) else None
        below = child.get("items", child)
        if "properties" in below:
            if at != path and below is not child:
                yield f"`{at}`", "`[]`", escaped(child["description"])
                at += "[]"
            yield from _rows(below, default, at)
        else:
            yield f"`{at}`", _shown(default), escaped(child["description"])


def _shown(default: Any) -> str:
    return "" if default in (None, "", [], {}) else f"`{escaped(json.dumps(default))}`"
