"""What commands print: text and tables on standard output, notes and errors on standard error.

Text from a cluster passes `printable`, so that a terminal shows escape sequences and does not obey them.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any, TextIO, TypeVar

import click
from torpor_wire import times
from torpor_wire.text import printable, printable_line

from torpor_cli import table, yaml_format

Function = TypeVar("Function", bound=Callable[..., Any])


class Format(StrEnum):
    """The value of `-o`. TEXT is the default."""

    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


def output_option(*formats: Format | str) -> Callable[[Function], Function]:
    """Add `-o` with these formats, by default wide, json, yaml and name. The argument `output_format` is a text."""
    choices = [str(each) for each in ((Format.TEXT, *formats) if formats else Format)]
    kind = click.Choice(choices)
    return click.option(
        "-o", "--output", "output_format", type=kind, default=str(Format.TEXT), help="Format of the output."
    )


def line(text: str = "") -> None:
    """Print a line of text that may contain newlines."""
    sys.stdout.write(f"{printable(text)}\n")


def styled(text: str) -> None:
    """Print a line whose foreign text is printable already, with colours."""
    sys.stdout.write(f"{text}\n")


def flush() -> None:
    """Send what is printed so far to a reader who watches."""
    sys.stdout.flush()


def note(text: str) -> None:
    """Print a remark on standard error, as one line."""
    sys.stdout.flush()
    sys.stderr.write(f"{printable_line(text)}\n")


def discard(stream: TextIO) -> None:
    """Drop what is printed to a stream from now on: its reader or its terminal has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def fail(text: str) -> None:
    """Print an error on standard error, as one line."""
    note(f"torpor: {text.strip()}")


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns of equal width, as kubectl does."""
    for text in table.lines(head, rows, coloured=coloured()):
        styled(text)


def namespaced_table(
    head: Sequence[str], rows: Sequence[tuple[Mapping[str, Any], Sequence[str]]], *, everywhere: bool
) -> None:
    """Print a table of Kubernetes objects, each with its row; with `everywhere`, their namespaces come first."""
    if everywhere:
        head = ["NAMESPACE", *head]
        rows = [(item, [str(item["metadata"].get("namespace") or ""), *row]) for item, row in rows]
    print_table(head, [row for _, row in rows])


def data(value: Any, output: str) -> None:
    """Print JSON data as json or yaml. Both escape control characters."""
    if output == Format.JSON:
        sys.stdout.write(f"{json.dumps(value, indent=2)}\n")
        return
    sys.stdout.write(yaml_format.dump(value))


def objects(items: Sequence[Mapping[str, Any]], output: str, *, single: bool) -> None:
    """Print Kubernetes objects as name, json or yaml; several as a List."""
    if output == Format.NAME:
        for item in items:
            line(object_name(item))
        return
    shown = [_without_managed_fields(item) for item in items]
    data(shown[0] if single else {"apiVersion": "v1", "kind": "List", "items": shown}, output)


def changed_objects(items: Sequence[Mapping[str, Any]], output: str, done: str) -> None:
    """Print what was done to Kubernetes objects, or the objects in the format of `-o`."""
    if output != Format.TEXT:
        objects(items, output, single=len(items) == 1)
        return
    for item in items:
        line(f"{object_name(item)} {done}")


def _without_managed_fields(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object as kubectl shows it: who wrote which field is longer than the object."""
    metadata = {key: value for key, value in (item.get("metadata") or {}).items() if key != "managedFields"}
    return {**item, "metadata": metadata}


def object_name(item: Mapping[str, Any]) -> str:
    """Return `workflow.torpor.dev/NAME`, as `kubectl -o name` does."""
    group = str(item.get("apiVersion", "")).rpartition("/")[0]
    kind = str(item.get("kind", "")).lower()
    return f"{kind}.{group}/{item['metadata']['name']}" if group else f"{kind}/{item['metadata']['name']}"


def shortened(text: str, width: int) -> str:
    """Return a text that is cut with an ellipsis on a terminal, and whole elsewhere."""
    return f"{text[: width - 1]}…" if interactive() and len(text) > width else text


def interactive() -> bool:
    """Whether standard output is a terminal on which lines can be drawn again."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def coloured() -> bool:
    """Whether to use colours: on a terminal, unless NO_COLOR is set (https://no-color.org)."""
    return interactive() and not os.environ.get("NO_COLOR")


_MOMENTS = frozenset({"at", "start", "end", "started", "ended", "since", "created", "completed", "deadline", "next_at"})


def to_json(value: Any) -> Any:
    """Return a dataclass, or a collection of them, as JSON."""
    if is_dataclass(value) and not isinstance(value, type):
        by_name = {field.name: getattr(value, field.name) for field in fields(value)}
        return {
            _camel(name): _field(name, item) for name, item in by_name.items() if item not in (None, "", (), [], {})
        }
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(item) for item in value]
    return str(value) if isinstance(value, str) else value


def _field(name: str, value: Any) -> Any:
    return times.rfc3339(value) if name in _MOMENTS and isinstance(value, float | int) else to_json(value)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
