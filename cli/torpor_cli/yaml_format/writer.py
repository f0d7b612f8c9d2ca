"""Writes a value as YAML that kubectl reads as the same value.

PyYAML writes a text such as `n`, `1e3` or `0o7` without quotes, because it reads it as text. kubectl does not.
"""

from functools import cache
from typing import Any

from torpor_cli.yaml_format import scalars

_WIDTH = 120


def dump(value: Any, *, readable: bool = False) -> str:
    """Return the YAML of a JSON value, with the keys in their order.

    `readable`: for people, with texts of several lines as blocks, and without escapes of letters.
    """
    import yaml  # noqa: PLC0415 - costs 50 ms

    dumper = _dumper(readable=readable)
    return str(
        yaml.dump(value, Dumper=dumper, sort_keys=False, default_flow_style=False, allow_unicode=readable, width=_WIDTH)
    )


@cache
def _dumper(*, readable: bool) -> Any:
    import yaml  # noqa: PLC0415 - see above

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Quotes what kubectl would not read as text."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - a given signature
            return True

    def text(dumper: Any, value: str) -> Any:
        style = None if isinstance(scalars.resolve(value), str) and value != "<<" else "'"
        if readable and "\n" in value:
            style = "|"
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return Dumper
