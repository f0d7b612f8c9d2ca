"""Reads the documents of a YAML file with the place of every field. Pure.

Every command that reads YAML uses it. It builds its nodes from the events of the parser and needs no recursion while
it reads. The limits of a file count its anchors expanded, so that neither deep nesting nor anchors that expand to
gigabytes stop the process or reach the API server.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import yaml

from torpor_cli import yaml_format
from torpor_cli.linting.finding import FilePosition, LintProblem, LintRule, Path

DEPTH_MAX = 100
NODES_MAX = 1_000_000
"""Values of a file."""
TEXT_MAX = 32 * 1024**2
"""Characters of the values of a file, and its bytes."""
_MERGE = "<<"
_SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
"""Two escapes of one character, which JSON has and YAML has not."""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True, kw_only=True)
class YamlNode:
    """A scalar, a list or an object, and where it begins."""

    at: FilePosition
    value: yaml_format.Scalar = None
    items: "list[YamlNode] | None" = None
    entries: "list[tuple[YamlNode, YamlNode]] | None" = None
    size: int = 1  # values in it, with itself
    length: int = 0  # characters in it
    depth: int = 0  # levels of lists and objects below it
    merges: bool = False  # a plain `<<`


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document: its value as JSON, its nodes, and what is wrong with its YAML."""

    root: YamlNode
    value: Any
    problems: tuple[LintProblem, ...] = ()

    def position(self, path: Path) -> FilePosition:
        """Return where a field is: its key, or the item of a list. A missing field is at the field around it."""
        node, at = self.root, self.root.at
        for part in path:
            step = _step(node, part)
            if step is None:
                return at
            at, node = step
        return at


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidYaml:
    """Where the YAML cannot be read, and why. Nothing after it is read."""

    at: FilePosition
    message: str


def read(text: str) -> Iterator[Document | InvalidYaml]:
    """Yield the documents of a file; the last is InvalidYaml if the file is not YAML. Empty documents are left out."""
    try:
        for root in _roots(_SURROGATES.sub(_one_escape, text)):
            if root.value is not None or root.items is not None or root.entries is not None:
                yield _document(root)
    except yaml.MarkedYAMLError as error:
        yield _broken(error)
    except yaml.YAMLError as error:
        yield InvalidYaml(at=FilePosition(), message=str(error).splitlines()[0])
    except _TooLargeError as error:
        yield InvalidYaml(at=error.at, message=str(error))


def _one_escape(escapes: re.Match[str]) -> str:
    high, low = int(escapes[2], 16), int(escapes[3], 16)
    return f"{escapes[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"


class _TooLargeError(Exception):
    def __init__(self, at: FilePosition, message: str) -> None:
        super().__init__(message)
        self.at = at


def _broken(error: yaml.MarkedYAMLError) -> InvalidYaml:
    message = ", ".join(part for part in (error.context, error.problem) if part) or "the file is not YAML"
    return InvalidYaml(at=_position(error.problem_mark or error.context_mark), message=message)


def _position(mark: Any) -> FilePosition:
    return FilePosition() if mark is None else FilePosition(line=mark.line + 1, column=mark.column + 1)


@dataclass(slots=True)
class _Total:
    """What the documents of a file have so far, with all anchors expanded."""

    values: int = 0
    characters: int = 0

    def add(self, node: YamlNode) -> None:
        """Count a value or an alias. Raises _TooLargeError."""
        self.values += node.size
        self.characters += node.length
        if self.values > NODES_MAX:
            raise _TooLargeError(node.at, f"the file has more than {NODES_MAX:,} values, with its anchors expanded")
        if self.characters > TEXT_MAX:
            raise _TooLargeError(node.at, f"the file has more than {TEXT_MAX:,} characters, with its anchors expanded")


@dataclass(slots=True)
class _Builder:
    """The nodes of one document while its events arrive."""

    total: _Total
    open: list[YamlNode] = field(default_factory=list)
    keys: list[YamlNode | None] = field(default_factory=list)
    anchors: dict[str, YamlNode] = field(default_factory=dict)
    root: YamlNode | None = None

    def start(self, node: YamlNode, anchor: str | None) -> None:
        """Begin a list or an object."""
        node.depth = 1
        self.put(node, anchor)
        self.open.append(node)
        self.keys.append(None)

    def put(self, node: YamlNode, anchor: str | None) -> None:
        """Add a node to the list or object that is open."""
        self.total.add(node)
        if len(self.open) + node.depth > DEPTH_MAX:
            raise _TooLargeError(node.at, f"lists and objects are nested more than {DEPTH_MAX} levels deep")
        if anchor is not None:
            self.anchors[anchor] = node
        if not self.open:
            self.root = node
        elif (items := self.open[-1].items) is not None:
            items.append(node)
        elif self.keys[-1] is None:
            self.keys[-1] = node
        else:
            entries = self.open[-1].entries
            assert entries is not None  # noqa: S101 - a node that is open is a list or an object
            entries.append((self.keys[-1], node))
            self.keys[-1] = None

    def end(self) -> None:
        """End the list or object that is open."""
        node = self.open.pop()
        self.keys.pop()
        for child in (*(node.items or ()), *chain.from_iterable(node.entries or ())):
            node.size += child.size
            node.length += child.length
            node.depth = max(node.depth, child.depth + 1)

    def alias(self, name: str, at: FilePosition) -> None:
        """Add the node of an anchor again."""
        node = self.anchors.get(name)
        if node is None:
            raise _TooLargeError(at, f"unknown anchor {name}")
        if any(ancestor is node for ancestor in self.open):
            raise _TooLargeError(at, f"anchor {name} contains itself")
        self.put(node, None)


def _roots(text: str) -> Iterator[YamlNode]:
    total = _Total()
    builder = _Builder(total)
    for event in yaml.parse(text, Loader=_LOADER):
        at = _position(event.start_mark)
        match event:
            case yaml.DocumentStartEvent():
                builder = _Builder(total)
            case yaml.DocumentEndEvent() if builder.root is not None:
                yield builder.root
            case yaml.SequenceStartEvent():
                builder.start(YamlNode(at=at, items=[]), event.anchor)
            case yaml.MappingStartEvent():
                builder.start(YamlNode(at=at, entries=[]), event.anchor)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                builder.end()
            case yaml.ScalarEvent():
                builder.put(_scalar(event, at), event.anchor)
            case yaml.AliasEvent():
                builder.alias(str(event.anchor), at)


def _scalar(event: Any, at: FilePosition) -> YamlNode:
    if event.tag is not None and event.tag != "!":
        return YamlNode(at=at, value=yaml_format.tagged(event.value, event.tag), length=len(event.value))
    plain = event.implicit[0] and event.tag is None
    value = yaml_format.resolve(event.value) if plain else event.value
    return YamlNode(at=at, value=value, length=len(event.value), merges=plain and event.value == _MERGE)


def _document(root: YamlNode) -> Document:
    problems: list[LintProblem] = []
    value = _value(root, (), problems)
    return Document(root=root, value=value, problems=tuple(problems))


def _value(node: YamlNode, path: Path, problems: list[LintProblem]) -> Any:
    if node.items is not None:
        return [_value(item, (*path, index), problems) for index, item in enumerate(node.items)]
    if node.entries is None:
        return node.value
    value: dict[str, Any] = {}
    for key, child in _entries(node):
        name = _key(key)
        if key.items is not None or key.entries is not None:
            message = "a key must be text: quote a value that begins with { or ["
            problems.append(LintProblem(path=path, rule=LintRule.YAML, message=message))
        elif name in value:
            message = f'key "{name}" already set in map'
            problems.append(LintProblem(path=(*path, name), rule=LintRule.YAML, message=message))
        else:
            value[name] = _value(child, (*path, name), problems)
    for merged in _merged(node):
        for key, child in _entries(merged):
            name = _key(key)
            if name not in value:
                value[name] = _value(child, (*path, name), problems)
    return value


def _key(node: YamlNode) -> str:
    return yaml_format.key_text(node.value)


def _entries(node: YamlNode) -> Iterable[tuple[YamlNode, YamlNode]]:
    return ((key, value) for key, value in node.entries or () if not key.merges)


def _merged(node: YamlNode) -> Iterator[YamlNode]:
    """Yield the objects that `<<` adds, with those that they add in turn."""
    for key, value in node.entries or ():
        if key.merges:
            for merged in value.items if value.items is not None else (value,):
                yield merged
                yield from _merged(merged)


def _step(node: YamlNode, part: str | int) -> tuple[FilePosition, YamlNode] | None:
    """Return place and node of an entry or item; of a key that occurs twice the last."""
    if isinstance(part, int):
        items: Sequence[YamlNode] = node.items or ()
        return (items[part].at, items[part]) if part < len(items) else None
    for source in (node, *_merged(node)):
        entries: Mapping[str, tuple[YamlNode, YamlNode]] = {_key(key): (key, value) for key, value in _entries(source)}
        if part in entries:
            key, value = entries[part]
            return key.at, value
    return None
