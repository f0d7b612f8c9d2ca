"""Strings with `${…}`: parses and renders them.

A string that is exactly one expression keeps the type of its value. Any other becomes a string with values that are not
strings as JSON. `$${` is a literal `${`. Values are never parsed again. Pure; it does not know the meaning of
expressions.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torpor_expressions import errors
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON

OPENING = "${"
_TOKEN = re.compile(
    r"""
    (?P<comment> //[^\n]* )
  | (?P<raw>     \b(?:[rR][bB]?|[bB][rR]) (?: \"{3}.*?\"{3} | '{3}.*?'{3} | \"[^"\n]*\" | '[^'\n]*' ) )
  | (?P<string>  \"{3}(?:\\.|[^\\])*?\"{3} | '{3}(?:\\.|[^\\])*?'{3} | \"(?:\\.|[^"\\\n])*\" | '(?:\\.|[^'\\\n])*' )
  | (?P<name>    `[^`\n]*` )
  | (?P<open>    \{ )
  | (?P<close>   \} )
    """,
    re.VERBOSE | re.DOTALL,
)
"""Tokens of CEL that can contain a brace, and braces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateExpression:
    """The text between `${` and its `}`, stripped."""

    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StringTemplate:
    """A parsed string: literal text and expressions."""

    parts: tuple[str | TemplateExpression, ...]

    @property
    def single(self) -> str | None:
        """The expression, if the string is exactly one."""
        match self.parts:
            case (TemplateExpression(source=source),):
                return source
            case _:
                return None

    @property
    def expressions(self) -> tuple[str, ...]:
        """The distinct expressions, in order."""
        return tuple(dict.fromkeys(part.source for part in self.parts if isinstance(part, TemplateExpression)))

    def render(self, results: Mapping[str, JSON]) -> JSON:
        """Return the string with each expression replaced by its result. A missing result is a KeyError."""
        if self.single is not None:
            return results[self.single]
        return "".join(part if isinstance(part, str) else _inserted(results[part.source]) for part in self.parts)


def parse(text: str) -> StringTemplate | ExpressionError:
    """Return the template of a text, or an error for an empty or unclosed `${`."""
    parts: list[str | TemplateExpression] = []
    literal, at = "", 0
    while (opening := text.find(OPENING, at)) >= 0:
        if opening > at and text[opening - 1] == "$":
            literal += text[at : opening - 1] + OPENING
            at = opening + len(OPENING)
            continue
        literal += text[at:opening]
        end = _closing_brace(text, opening + len(OPENING))
        if end is None:
            return errors.invalid(f"'${{' at column {opening + 1} has no closing '}}'; write $${{ for a literal ${{")
        source = text[opening + len(OPENING) : end].strip()
        if not source:
            return errors.invalid(f"'${{}}' at column {opening + 1} is empty; write $${{ for a literal ${{")
        parts += [literal, TemplateExpression(source=source)] if literal else [TemplateExpression(source=source)]
        literal, at = "", end + 1
    rest = literal + text[at:]
    return StringTemplate(parts=(*parts, rest) if rest or not parts else tuple(parts))


def expressions(value: JSON) -> tuple[str, ...] | ExpressionError:
    """Return the distinct expressions in the strings of a value, at any depth, in order. Keys of dicts are literal."""
    distinct: dict[str, None] = {}
    for path, text in _strings(value, ""):
        template = parse(text)
        if isinstance(template, ExpressionError):
            return template.under(path)
        distinct.update(dict.fromkeys(template.expressions))
    return tuple(distinct)


def substitute(value: JSON, results: Mapping[str, JSON]) -> JSON | ExpressionError:
    """Return the value with all templates rendered. `results` has one for each of its `expressions`."""
    problem = expressions(value)
    return problem if isinstance(problem, ExpressionError) else _rendered(value, results)


def _rendered(value: JSON, results: Mapping[str, JSON]) -> JSON:
    match value:
        case str():
            template = parse(value)
            return value if isinstance(template, ExpressionError) else template.render(results)
        case list():
            return [_rendered(item, results) for item in value]
        case dict():
            return {key: _rendered(item, results) for key, item in value.items()}
        case _:
            return value


def _strings(value: JSON, path: str) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield path, value
        case list():
            for index, item in enumerate(value):
                yield from _strings(item, f"{path}[{index}]")
        case dict():
            for key, item in value.items():
                yield from _strings(item, f"{path}.{key}" if path else key)


def _inserted(value: JSON) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _closing_brace(text: str, start: int) -> int | None:
    """Return the index of the `}` that closes a brace opened just before `start`, or None.

    A `}` within a string literal or a comment of CEL does not close it. Nothing else of the grammar is needed.
    """
    depth = 1
    for token in _TOKEN.finditer(text, start):
        match token.lastgroup:
            case "open":
                depth += 1
            case "close":
                depth -= 1
                if depth == 0:
                    return token.start()
            case _:
                continue
    return None
