"""The YAML text of an object with expressions of Helm in it. Pure.

An expression is kept in the object as a word of letters and digits, which YAML writes as it is. It is replaced in the
text.
"""

import re
from collections.abc import Mapping
from typing import Any

import yaml

_SCALAR, _BLOCK = "xscalarx", "xblockx"
_SCALAR_WORD = re.compile(rf"{_SCALAR}([0-9a-f]+)z")
_BLOCK_LINE = re.compile(rf"^( *)(?:- )?{_BLOCK}([0-9a-f]+)z(?:: null)?$", re.MULTILINE)
_SAME, _INNER = "@same@", "@inner@"
_WIDTH = 1_000_000
_FAST_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

SYSTEM = "torpor-system"
"""The namespace of the kustomizations. The chart uses the namespace of the release."""
NAMESPACE = "xnamespacex"
"""Stands for a namespace of workflows."""
POOL = "xpoolx"
"""Stands for the name of a pool."""
_NAMES = {SYSTEM: "$.Release.Namespace", NAMESPACE: "$namespace", POOL: "$pool.name"}


class _Dumper(yaml.SafeDumper):
    """Writes long keys as short ones: on one line, without a question mark."""

    def check_simple_key(self) -> bool:
        """All keys are words."""
        return True


def scalar(expression: str) -> str:
    """A value that Helm computes."""
    return f"{_SCALAR}{expression.encode().hex()}z"


def block(*lines: str) -> str:
    """Lines of the template, as the key of a mapping (with the value None) or as an item of a list.

    The lines get the indentation of the key. `@same@` is the number of its spaces, `@inner@` that of what is below it.
    """
    return f"{_BLOCK}{chr(10).join(lines).encode().hex()}z"


def field(name: str, value: str) -> str:
    """The block of a field that is left out where its value is empty."""
    return block(f"{{{{- with {value} }}}}", f"{name}:", "{{- toYaml . | nindent @inner@ }}", "{{- end }}")


def entries(value: str) -> str:
    """The block of further entries of a mapping or a list."""
    return block(f"{{{{- with {value} }}}}", "{{- toYaml . | nindent @same@ }}", "{{- end }}")


def document(body: Mapping[str, Any]) -> str:
    """The text of an object, without a separator."""
    text = "".join(_field(name, value) for name, value in body.items())
    text = text.replace("{{", '{{ "{{" }}')
    text = _BLOCK_LINE.sub(_lines, text)
    text = _SCALAR_WORD.sub(lambda match: f"{{{{ {_decode(match[1])} }}}}", text)
    for name, expression in _NAMES.items():
        # A name such as 2026 alone would be a number.
        text = re.sub(rf"(?m)(: |- ){name}$", rf"\1{{{{ {expression} | quote }}}}", text)
        text = text.replace(name, f"{{{{ {expression} }}}}")
    return text


def _field(name: str, value: object) -> str:
    # LibYAML is ten times as fast, and cannot write long keys on one line.
    dumper = _Dumper if name.startswith(_BLOCK) or _BLOCK in repr(value) else _FAST_DUMPER
    return yaml.dump({name: value}, Dumper=dumper, sort_keys=False, width=_WIDTH, allow_unicode=True)


def _lines(match: re.Match[str]) -> str:
    indent = match[1]
    text = _decode(match[2]).replace(_SAME, str(len(indent))).replace(_INNER, str(len(indent) + 2))
    return "\n".join(f"{indent}{line}" for line in text.splitlines())


def _decode(word: str) -> str:
    return bytes.fromhex(word).decode()
