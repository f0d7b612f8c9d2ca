"""The wire format of Protocol Buffers, as far as a syntax tree needs it.

The CEL library exchanges its tree in this format. The protobuf package would cost each child process more than
everything else here (ADR 0005). This module does not know the meaning of fields.
"""

from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field: an integer for a varint, bytes for everything else."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            number, at = _varint(message, at)
            yield tag >> 3, number
            continue
        size = _FIXED.get(kind)
        if size is None:
            size, at = _varint(message, at)
        yield tag >> 3, message[at : at + size]
        at += size


def nested(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the fields with bytes: strings and messages."""
    for number, value in fields(message):
        if isinstance(value, bytes):
            yield number, value


def integer(number: int, value: int) -> bytes:
    """Return a field with a non-negative integer."""
    return _encoded(number << 3 | _VARINT) + _encoded(value)


def field(number: int, value: bytes) -> bytes:
    """Return a field with bytes: a string or a message."""
    return _encoded(number << 3 | _BYTES) + _encoded(len(value)) + value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004, the continuation bit of the format
            return number, at
        shift += 7


def _encoded(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:  # noqa: PLR2004, seven bits a byte
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
