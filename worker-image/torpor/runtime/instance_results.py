"""The instances of a reference to `results`: their positions, and the indexes of each.

Only tasks that reduce import it. It reads no results.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from torpor_wire import constants
from torpor_wire.reason import Reason

from torpor.errors import RejectedError
from torpor.results import Position, path
from torpor.runtime.taskrun import ArgumentLocation

InstanceList: TypeAlias = tuple[Sequence[Position], Sequence[Position] | None]
"""All positions in order, and those without a result; None if those are not known."""


def parse_instances(source: ArgumentLocation) -> InstanceList:
    """Return the instances of a reference. Raises RejectedError for invalid ranges."""
    try:
        return _in_one_frame(source) if source.paths is None else _by_path(source.paths, source.missing)
    except ValueError as error:
        message = (
            f"the TaskRun has an invalid list of instances of task {source.task!r} (modified outside Torpor?): {error}"
        )
        raise RejectedError(Reason.ARGUMENTS_INVALID, message) from error


def split_indexes(source: ArgumentLocation, position: Position) -> tuple[int, tuple[int, ...]]:
    """Return the instance's own index, and those of its groups."""
    indexes = (*source.group_indexes, *path(position))
    itself_mapped = source.paths is None or source.mapped
    return (indexes[-1], indexes[:-1]) if itself_mapped else (constants.UNMAPPED, indexes)


def _in_one_frame(source: ArgumentLocation) -> InstanceList:
    first = source.position or 0
    missing = None if source.missing is None else [*_numbers(source.missing)]
    return range(first, first + source.instances), missing


def _numbers(ranges: str) -> Iterator[int]:
    """Return the numbers of ranges such as `2,7-9`."""
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _by_path(ranges: str, missing: str | None) -> InstanceList:
    depth = ranges.partition(",")[0].count(".") + 1
    return _paths(ranges, depth), None if missing is None else _paths(missing, depth)


def _paths(ranges: str, depth: int) -> Sequence[Position]:
    from torpor_wire import instance_paths  # noqa: PLC0415 - only for a reduction over several group scopes

    paths = sorted(instance_paths.parse_paths(ranges, depth))
    return [number for (number,) in paths] if depth == 1 else paths
