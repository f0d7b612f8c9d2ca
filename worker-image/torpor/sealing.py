"""Sealed values: what a task hands its trigger and nobody may read on the TaskRun.

The worker seals with the public key of the pool of triggerers, which opens with its private one: a sealed box of
libsodium over JSON. The box names the namespace it was sealed in, since whoever may read a TaskRun can copy the box
onto one of their own elsewhere. The library is the extra `torpor[seal]`, imported when a value is sealed or opened.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torpor_wire import canonical, trigger

_PREFIX = "sealed"
_KEY_BYTES = 32
_ID_DIGITS = 8


class SealError(ValueError):
    """A value that cannot be sealed or opened; the message says why, without the value."""


class Pair(NamedTuple):
    """The keys of a pool, base64: `public` is for everybody, `private` for its triggerers alone."""

    public: str
    private: str


def new_pair() -> Pair:
    """A pair of keys that did not exist before. Raises SealError where the library is missing."""
    private = _library().PrivateKey.generate()
    return Pair(_text(bytes(private.public_key)), _text(bytes(private)))


def key_id(public: str) -> str:
    """Eight hexadecimal digits by which a public key is named. Raises SealError for what is no key."""
    return hashlib.sha256(_key(public, "public")).hexdigest()[:_ID_DIGITS]


def seal(value: Any, key: str, namespace: str) -> str:
    """`sealed:<key id>:<base64>`: a JSON value that opens with the private key, and for this namespace alone.

    The text is about 4/3 as long as the value's JSON, and 100 bytes more. Raises SealError for a value that is not
    JSON, for a key that is none, and where the library is missing.
    """
    named = key_id(key)
    try:
        content = canonical.plain({"namespace": namespace, "value": value})
    except canonical.NotJsonError as error:
        raise SealError(f"the value is not JSON: {error}") from None
    library = _library()
    box = library.SealedBox(library.PublicKey(_key(key, "public"))).encrypt(content.encode())
    return f"{_PREFIX}:{named}:{_text(box)}"


def unseal(text: object, private_key: str, namespace: str) -> Any:
    """The value that was sealed. Raises SealError for a box of another key or namespace, and for what is no box."""
    box = _box_of(text)
    library = _library()
    private = library.PrivateKey(_key(private_key, "private"))
    own = key_id(_text(bytes(private.public_key)))
    if box.key != own:
        raise SealError(f"it is sealed to key {box.key}, and the pool's key is {own}: defer anew")
    try:
        content = library.SealedBox(private).decrypt(box.data)
    except Exception:  # noqa: BLE001 - the library's own errors, and ValueErrors, by what is wrong with the box
        raise SealError("it does not open: the box was changed after it was sealed") from None
    return _for(namespace, content)


def seal_kwargs(kwargs: Mapping[str, Any], key: str | None, namespace: str) -> dict[str, Any]:
    """The kwargs of a trigger with each `encrypted__` one sealed, those of triggers within it too.

    `key` is the pool's public one, if it has one. Raises SealError naming the argument.
    """

    def sealed(name: str, value: Any) -> tuple[str, Any]:
        if not key:
            raise SealError("the pool of triggerers has published no key yet")
        return name, seal(value, key, namespace)

    return dict(_changed(kwargs, sealed))


def unseal_kwargs(kwargs: Mapping[str, Any], private_key: str, namespace: str) -> dict[str, Any]:
    """The kwargs for the trigger's class: what was sealed as `encrypted__x` is opened, and called x, as in Airflow.

    Raises SealError naming the argument.
    """

    def opened(name: str, value: Any) -> tuple[str, Any]:
        return name.removeprefix(trigger.SEALED), unseal(value, private_key, namespace)

    return dict(_changed(kwargs, opened))


def _changed(value: Any, change: Callable[[str, Any], tuple[str, Any]]) -> Any:
    """The value with `change` made to each entry whose name says that it is sealed."""
    if isinstance(value, list | tuple):
        return [_changed(item, change) for item in value]
    if not isinstance(value, Mapping):
        return value
    found: dict[Any, Any] = {}
    for name, inner in value.items():
        new, content = _entry(name, inner, change)
        if new in found:
            raise SealError(f"{new} is given twice, once of them as {trigger.SEALED}{new}")
        found[new] = content
    return found


def _entry(name: Any, value: Any, change: Callable[[str, Any], tuple[str, Any]]) -> tuple[Any, Any]:
    if not isinstance(name, str) or not name.startswith(trigger.SEALED):
        return name, _changed(value, change)
    try:
        return change(name, value)
    except SealError as error:
        raise SealError(f"{name}: {error}") from None


class _Box(NamedTuple):
    key: str
    data: bytes


def _box_of(text: object) -> _Box:
    match text.split(":") if isinstance(text, str) else ():
        case (prefix, named, data) if prefix == _PREFIX:
            try:
                return _Box(named[:_ID_DIGITS], base64.b64decode(data, validate=True))
            except ValueError:
                raise SealError("it is no sealed value: its box is not base64") from None
        case _:
            raise SealError(f"it is no sealed value, which begins with `{_PREFIX}:`")


def _for(namespace: str, content: bytes) -> Any:
    try:
        found = json.loads(content)
        sealed_in, value = found["namespace"], found["value"]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise SealError("what is sealed in it is not a namespace and a value") from None
    if sealed_in != namespace:
        raise SealError(f"it was sealed in another namespace than {namespace}")
    return value


def _key(text: str, which: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        key = b""
    if len(key) != _KEY_BYTES:
        raise SealError(f"the pool's {which} key is not {_KEY_BYTES} bytes in base64")
    return key


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _library() -> Any:
    try:
        from nacl import public  # noqa: PLC0415 - 60 ms, and an extra that few images have
    except ImportError as error:
        raise SealError("torpor[seal] is not installed: `pip install 'torpor[seal]'` in the image") from error
    return public
