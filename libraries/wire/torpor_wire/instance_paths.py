"""Instances of a task in mapped groups, as paths of indexes: outermost group first, the task itself last. Pure.

A status stores sets of them as ranges for each level: `0-3.0-9,4.0-1` is ten instances in each of the first four
indexes of a group, and two in the fifth.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, product
from math import prod
from typing import TypeAlias

from torpor_wire import constants
from torpor_wire.index_ranges import Indexes

Path: TypeAlias = tuple[int, ...]

_RANGE = r"\d{1,6}(?:-\d{1,6})?"
_BOX = re.compile(rf"{_RANGE}(?:\.{_RANGE}){{0,{constants.GROUP_DEPTH}}}")


def written(path: Path) -> str:
    """Return a path such as `2.0`."""
    return ".".join(map(str, path))


def text(paths: Iterable[Path]) -> str:
    """Return a set of paths of one length as ranges in ascending order.

    Paths that differ in one level form one range.
    """
    return ",".join(_boxes(sorted(set(paths))))


def parse_paths(ranges: str, depth: int) -> frozenset[Path]:
    """Return the paths of this length from the ranges that `text` returns. Raises ValueError."""
    paths: set[Path] = set()
    for box in filter(None, ranges.split(",")):
        if _BOX.fullmatch(box) is None:
            raise ValueError(f"{box!r} is not a range of instances")
        sides = [_side(part) for part in box.split(".")]
        if len(sides) != depth:
            raise ValueError(f"{box!r} has {len(sides)} levels instead of {depth}")
        if len(paths) + prod(map(len, sides)) > constants.MAP_MAX:
            raise ValueError(f"{box!r} exceeds the maximum number of instances")
        paths.update(product(*sides))
    return frozenset(paths)


def by_group_path(paths: Iterable[Path]) -> dict[Path, Indexes]:
    """Group the last numbers of paths by the numbers before them."""
    numbers: dict[Path, list[int]] = {}
    for path in paths:
        numbers.setdefault(path[:-1], []).append(path[-1])
    return {path: Indexes.from_numbers(last) for path, last in numbers.items()}


def joined(paths: Mapping[Path, Indexes]) -> Iterator[Path]:
    """Return the paths of the groups that `by_group_path` returns."""
    return ((*path, last) for path, lasts in paths.items() for last in lasts)


def _boxes(paths: list[Path]) -> list[str]:
    """Return the ranges of sorted paths."""
    if not paths or not paths[0]:
        return []
    if len(paths[0]) == 1:
        return [part for part in Indexes.from_numbers(first for (first,) in paths).text().split(",") if part]
    below = [(first, tuple(_boxes([path[1:] for path in group]))) for first, group in groupby(paths, lambda p: p[0])]
    boxes: list[str] = []
    for firsts, rest in _runs(below):
        boxes += [f"{firsts}.{box}" for box in rest]
    return boxes


def _runs(below: list[tuple[int, tuple[str, ...]]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Merge neighbors with equal contents into ranges."""
    for (_, rest), group in groupby(enumerate(below), lambda entry: (entry[1][0] - entry[0], entry[1][1])):
        firsts = [first for _, (first, _) in group]
        yield (str(firsts[0]) if len(firsts) == 1 else f"{firsts[0]}-{firsts[-1]}"), rest


def _side(part: str) -> range:
    first, _, last = part.partition("-")
    if int(last or first) < int(first):
        raise ValueError(f"{part!r} ends before it begins")
    return range(int(first), int(last or first) + 1)
