"""Rewrites error texts of the CEL library as messages for users of workflows. Pure.

The texts are those of cel-expr-python 0.1.3. Unknown texts are passed on, shortened.
"""

import re

from torpor_expressions import errors
from torpor_expressions.errors import ExpressionError

_PLACED = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): ([^\n]*)")
_STATUS = re.compile(r"^[A-Z_]+: |\s*\[[A-Z_]+\]$")
_CONDITIONAL = "?:"
_REWORDED = (
    (re.compile(r"^Syntax error: "), ""),
    (re.compile(r"^(?:mismatched|extraneous) input '<EOF>'.*"), "the expression ends too early"),
    (re.compile(r"^(?:mismatched|extraneous) input ('.*?') expecting .*"), r"unexpected \1"),
    (re.compile(r"^missing ('.*?') at '<EOF>'"), r"the expression ends without \1"),
    (re.compile(r"^no viable alternative at input ('.*')"), r"unexpected \1"),
    (re.compile(r"^token recognition error at: '(['\"].*)'$"), r"the text \1 has no closing quote"),
    (re.compile(r"^token recognition error at: '(.*?)\s*'$"), r"unexpected '\1'"),
    (re.compile(r" expecting .*$"), ""),
    (re.compile(r" \(in container ''\)"), ""),
    (re.compile(r"^undeclared reference to '(zip|concat)'"), r"\1 takes 1 to 4 lists"),
    (
        re.compile(r"^undeclared reference to 'zipLongest'"),
        "zipLongest takes 2 to 4 lists and the value that fills shorter ones",
    ),
    (re.compile(r"^undeclared reference to 'range'"), "range takes one or two integers"),
    (re.compile(r"^undeclared reference to (.*)"), r"unknown function or name \1"),
    (re.compile(r"^Key not found in map : (.*)"), r"no such key: \1"),
    (re.compile(r"^Index error: index=(-?\d+) size=(\d+)"), r"no item \1 in a list of \2"),
    (
        re.compile(r"^No matching overloads found : <iter_range>"),
        "a macro needs a list or a map",
    ),
    (re.compile(r"^Applying SELECT to non-message type"), "a field is selected from a value that is not an object"),
)
_OVERLOADS = (
    re.compile(r"^found no matching overload for '(.*)' applied to '\((.*)\)'"),
    re.compile(r"^No matching overloads found : (\S+?)\((.*)\)"),
)


def raised(error: Exception) -> ExpressionError:
    """Return the message of an exception of the library."""
    text = str(error)
    if isinstance(error, MemoryError) or "bad_alloc" in text:
        return errors.too_expensive("the expression needs too much memory")
    if "Iteration budget exceeded" in text:
        return errors.too_expensive("the expression needs more than 10,000 loop steps (map, filter, all, exists)")
    if "recursion" in text or "Cannot parse serialized" in text:
        return errors.too_expensive("the expression has more than 32 levels of nesting or chaining")
    if "Unable to convert" in text:
        return errors.failed("the result is an optional value, which is not JSON; append .orValue(…)")
    match = _PLACED.search(text)
    if match is None:
        return at_run_time(text)
    line, column, message = match.groups()
    return errors.invalid(_reworded(message) + _where(int(line), int(column)))


def at_run_time(text: str) -> ExpressionError:
    """Return the message of an error value of the library."""
    return errors.failed(_reworded(_STATUS.sub("", text)))


def _where(line: int, column: int) -> str:
    if column < 1:
        return ""
    return f" at line {line}, column {column}" if line > 1 else f" at column {column}"


def _reworded(message: str) -> str:
    for pattern in _OVERLOADS:
        if match := pattern.search(message):
            return _overload(*match.groups())
    text = message.strip()
    for pattern, words in _REWORDED:
        text = pattern.sub(words, text)
    return text


def _overload(function: str, types: str) -> str:
    name = function.replace("_", "") if not function.strip("_").isidentifier() else function
    hint = "; both branches need the same type, or dyn(…) around one" if name == _CONDITIONAL else ""
    return f"{name.removeprefix('@')} is not defined for ({types}){hint}"
