"""Sealed values: arguments of a trigger that cannot be read from the TaskRun.

The worker encrypts a value with the public key of a triggerer pool (a libsodium sealed box over JSON). Only the
triggerers of that pool have the private key. Each box names its namespace, class and argument, and opens for these
alone. So a reader of the TaskRun cannot copy the box to another namespace, or to an argument that the trigger sends or
shows. Needs the extra `torpor[seal]`, imported on first use.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from torpor_wire import canonical, trigger

_PREFIX = "sealed"
_KEY_BYTES = 32
_ID_DIGITS = 8
_OTHER_USES = {"namespace": "in another namespace", "class": "for another class", "argument": "as another argument"}


class SealError(ValueError):
    """A value cannot be sealed or opened. The message gives the reason, without the value."""


class SealScope(NamedTuple):
    """What a box is sealed for. `argument` is the path in the kwargs of the class, such as `auth/encrypted__token`."""

    namespace: str
    class_name: str
    argument: str


class SealKeyPair(NamedTuple):
    """The keys of a pool in base64. Publish `public`; keep `private` for its triggerers."""

    public: str
    private: str


def new_pair() -> SealKeyPair:
    """Generate a pair of keys. Raises SealError if `torpor[seal]` is not installed."""
    private = _library().PrivateKey.generate()
    return SealKeyPair(_text(bytes(private.public_key)), _text(bytes(private)))


def key_id(public: str) -> str:
    """Return the eight hexadecimal digits that identify a public key. Raises SealError for an invalid key."""
    return hashlib.sha256(_key(public, "public")).hexdigest()[:_ID_DIGITS]


def seal(value: Any, key: str, use: SealScope) -> str:
    """Return `sealed:<key id>:<base64>`: a JSON value that opens with the private key and for this use alone.

    The text is about 4/3 as long as the JSON of the value, plus 200 bytes. Raises SealError if the value is not JSON,
    the key is invalid, or `torpor[seal]` is not installed.
    """
    named = key_id(key)
    try:
        content = canonical.plain({**_named(use), "value": value})
    except canonical.NotJsonError as error:
        raise SealError(f"the value is not JSON: {error}") from None
    library = _library()
    box = library.SealedBox(library.PublicKey(_key(key, "public"))).encrypt(content.encode())
    return f"{_PREFIX}:{named}:{_text(box)}"


def unseal(text: object, private_key: str, use: SealScope) -> Any:
    """Return the sealed value. Raises SealError for a box of another key or use, and for text that is not a box."""
    box = _box_of(text)
    library = _library()
    private = library.PrivateKey(_key(private_key, "private"))
    own = key_id(_text(bytes(private.public_key)))
    if box.key != own:
        raise SealError(f"it is sealed with key {box.key}, but the key of the pool is {own}: defer again")
    try:
        content = library.SealedBox(private).decrypt(box.data)
    except Exception:  # noqa: BLE001 - the library raises its own errors and ValueError
        raise SealError("it cannot be opened: it was modified after it was sealed") from None
    return _content(use, content)


def seal_kwargs(class_name: str, kwargs: Mapping[str, Any], key: str | None, namespace: str) -> dict[str, Any]:
    """Return the kwargs of a trigger with each `encrypted__` argument sealed, also in nested triggers.

    `key` is the public key of the pool, if it has one. Raises SealError naming the argument.
    """

    def sealed(name: str, value: Any, use: SealScope) -> tuple[str, Any]:
        if not key:
            raise SealError("the triggerer pool has not published a key yet")
        return name, seal(value, key, use)

    return _kwargs(kwargs, SealScope(namespace, class_name, ""), sealed)


def unseal_kwargs(class_name: str, kwargs: Mapping[str, Any], private_key: str, namespace: str) -> dict[str, Any]:
    """Return the kwargs for the class of the trigger. A sealed `encrypted__x` becomes `x`, as in Airflow.

    Raises SealError naming the argument.
    """

    def opened(name: str, value: Any, use: SealScope) -> tuple[str, Any]:
        return name.removeprefix(trigger.SEALED), unseal(value, private_key, use)

    return _kwargs(kwargs, SealScope(namespace, class_name, ""), opened)


_Change: TypeAlias = Callable[[str, Any, SealScope], tuple[str, Any]]


def _kwargs(kwargs: Mapping[str, Any], use: SealScope, change: _Change) -> dict[str, Any]:
    """Apply `change` to each sealed argument of a class."""
    parts = kwargs.get("triggers")
    if use.class_name not in trigger.SEVERAL or not isinstance(parts, list | tuple):
        return dict(_changed(kwargs, use, change))
    rest = {name: value for name, value in kwargs.items() if name != "triggers"}
    return {**_changed(rest, use, change), "triggers": [_part(part, use, change) for part in parts]}


def _part(part: Any, use: SealScope, change: _Change) -> Any:
    """Apply `change` to one trigger within `any_of` or `all_of`, by its own class."""
    match part:
        case {"class": str() as class_name, "kwargs": Mapping() as kwargs}:
            return {**part, "kwargs": _kwargs(kwargs, use._replace(class_name=class_name), change)}
        case _:
            return _changed(part, use._replace(argument="triggers"), change)


def _changed(value: Any, at: SealScope, change: _Change) -> Any:
    if isinstance(value, list | tuple):
        return [_changed(item, _within(at, str(index)), change) for index, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    changed: dict[Any, Any] = {}
    for name, inner in value.items():
        new, content = _entry(name, inner, _within(at, str(name)), change)
        if new in changed:
            raise SealError(f"{new} is given twice, also as {trigger.SEALED}{new}")
        changed[new] = content
    return changed


def _entry(name: Any, value: Any, at: SealScope, change: _Change) -> tuple[Any, Any]:
    if not isinstance(name, str) or not name.startswith(trigger.SEALED):
        return name, _changed(value, at, change)
    try:
        return change(name, value, at)
    except SealError as error:
        raise SealError(f"{name}: {error}") from None


def _within(at: SealScope, name: str) -> SealScope:
    name = name.replace("~", "~0").replace("/", "~1")
    return at._replace(argument=f"{at.argument}/{name}" if at.argument else name)


class _Box(NamedTuple):
    key: str
    data: bytes


def _box_of(text: object) -> _Box:
    match text.split(":") if isinstance(text, str) else ():
        case (prefix, named, data) if prefix == _PREFIX:
            try:
                return _Box(named[:_ID_DIGITS], base64.b64decode(data, validate=True))
            except ValueError:
                raise SealError("it is not a sealed value: its box is not base64") from None
        case _:
            raise SealError(f"it is not a sealed value, which begins with `{_PREFIX}:`")


def _named(use: SealScope) -> dict[str, str]:
    return {"namespace": use.namespace, "class": use.class_name, "argument": use.argument}


def _content(use: SealScope, content: bytes) -> Any:
    try:
        contents = json.loads(content)
        value = contents.pop("value")
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise SealError("its contents are not a sealed value of torpor") from None
    if contents.keys() != _named(use).keys():
        raise SealError("it does not name its class and argument: seal it with this version of torpor")
    for field, wanted in _named(use).items():
        if contents[field] != wanted:
            raise SealError(f"it was sealed {_OTHER_USES[field]} and opens only there")
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
        from nacl import public  # noqa: PLC0415 - 60 ms, and an optional extra
    except ImportError as error:
        raise SealError("torpor[seal] is not installed: run `pip install 'torpor[seal]'` in the image") from error
    return public
