"""Reads CPU profiles in the format of pprof: gzipped Protocol Buffers, as Go programs serve them."""

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torpor_expressions import protobuf

_SAMPLE, _LOCATION, _FUNCTION, _STRING = 2, 4, 5, 6  # fields of Profile
_LOCATIONS, _VALUES, _LABEL = 1, 2, 3  # of ProfileSample
_KEY, _TEXT = 1, 2  # of Label
_ID, _NAME, _LINE, _LINE_FUNCTION = 1, 2, 4, 1  # of Function, Location and Line
_NANOSECONDS = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSample:
    """Processor seconds of one stack, the innermost function first, with the labels of its goroutine."""

    stack: tuple[str, ...]
    labels: Mapping[str, str]
    seconds: float


def parse(data: bytes) -> list[ProfileSample]:
    """The samples of a profile, whose last value a sample is nanoseconds."""
    parts: dict[int, list[bytes]] = {_SAMPLE: [], _LOCATION: [], _FUNCTION: [], _STRING: []}
    for number, value in protobuf.nested(gzip.decompress(data)):
        if number in parts:
            parts[number].append(value)
    texts = [text.decode(errors="replace") for text in parts[_STRING]]
    functions = {_integer(part, _ID): texts[_integer(part, _NAME)] for part in parts[_FUNCTION]}
    locations = {_integer(part, _ID): _names(part, functions) for part in parts[_LOCATION]}
    return [_sample(part, locations, texts) for part in parts[_SAMPLE]]


def _names(location: bytes, functions: Mapping[int, str]) -> tuple[str, ...]:
    """More than one where functions were inlined."""
    lines = (value for number, value in protobuf.nested(location) if number == _LINE)
    return tuple(functions[_integer(line, _LINE_FUNCTION)] for line in lines)


def _sample(message: bytes, locations: Mapping[int, tuple[str, ...]], texts: list[str]) -> ProfileSample:
    labels = [value for number, value in protobuf.nested(message) if number == _LABEL]
    return ProfileSample(
        stack=tuple(name for at in _integers(message, _LOCATIONS) for name in locations[at]),
        labels={texts[_integer(label, _KEY)]: texts[_integer(label, _TEXT)] for label in labels},
        seconds=[*_integers(message, _VALUES)][-1] / _NANOSECONDS,
    )


def _integer(message: bytes, wanted: int) -> int:
    return next(iter(_integers(message, wanted)), 0)


def _integers(message: bytes, wanted: int) -> Iterator[int]:
    """Go packs three and more into one field, and repeats the field for fewer."""
    for number, value in protobuf.fields(message):
        if number == wanted:
            yield from [value] if isinstance(value, int) else _unpacked(value)


def _unpacked(packed: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in packed:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield number
            number = shift = 0
