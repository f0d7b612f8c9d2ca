"""Functions over lists that this language adds to CEL: zip, zipLongest and concat.

They are expanded in the serialized tree to `map` over indexes. Items never pass through Python, because the CEL library
cannot return a null safely; only indexes do.
"""

from collections.abc import Sequence

from torpor_expressions.ast_builder import Nodes

ZIP, ZIP_LONGEST, CONCAT = "zip", "zipLongest", "concat"
NAMES = {ZIP: range(1, 5), ZIP_LONGEST: range(3, 6), CONCAT: range(1, 5)}
"""Numbers of arguments. The last argument of zipLongest fills missing items."""
PLACES_OF_SHORTEST, PLACES_OF_LONGEST = "@places_of_shortest", "@places_of_longest"
_PLACE, _RESULT, _FILL = "@place", "@zipped", "@fill"


def expanded(function: str, arguments: Sequence[bytes], nodes: Nodes) -> bytes | None:
    """Return the expansion of a call of one of these functions, None for other calls."""
    if len(arguments) not in NAMES.get(function, ()):
        return None
    if function == CONCAT:
        first, *rest = arguments
        for more in rest or [nodes.items()]:  # + [], so that one argument must be a list too
            first = nodes.call("_+_", first, more)
        return first
    if function == ZIP:
        return _bound(arguments, _zipped(len(arguments), PLACES_OF_SHORTEST, nodes, fill=False), nodes)
    *lists, fill = arguments
    zipped = _zipped(len(lists), PLACES_OF_LONGEST, nodes, fill=True)
    return nodes.bind(_FILL, fill, _bound(lists, zipped, nodes))


def places_of_shortest(sizes: list[int]) -> list[int]:
    """Return the indexes that all lists have."""
    return list(range(min(sizes)))


def places_of_longest(sizes: list[int]) -> list[int]:
    """Return the indexes that any list has."""
    return list(range(max(sizes)))


def _zipped(count: int, places: str, nodes: Nodes, *, fill: bool) -> bytes:
    """Return `places.map(place, [list0[place], list1[place], ...])`."""
    sizes = nodes.items(*(nodes.call("size", nodes.name(_list(number))) for number in range(count)))
    taken = nodes.items(*(_taken(number, nodes, fill=fill) for number in range(count)))
    return nodes.each(_PLACE, nodes.call(places, sizes), taken, _RESULT)


def _taken(number: int, nodes: Nodes, *, fill: bool) -> bytes:
    item = nodes.call("_[_]", nodes.name(_list(number)), nodes.name(_PLACE))
    if not fill:
        return item
    there = nodes.call("_<_", nodes.name(_PLACE), nodes.call("size", nodes.name(_list(number))))
    return nodes.call("_?_:_", there, item, nodes.name(_FILL))


def _bound(lists: Sequence[bytes], body: bytes, nodes: Nodes) -> bytes:
    for number, each in reversed(list(enumerate(lists))):
        body = nodes.bind(_list(number), each, body)
    return body


def _list(number: int) -> str:
    return f"@list{number}"
