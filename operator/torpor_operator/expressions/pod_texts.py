"""Where expressions of pod fields are, and who may choose their values (ADR 0059). Pure.

An expression replaces a text, never a key, a list or an object, so data cannot add a field. A field that names a Secret
or another object takes values of the author only. A field that is not listed here has no expressions.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError
from torpor_crds.models.base import QUANTITY
from torpor_crds.models.pod_fields import EnvValue, PodFields, PodValue
from torpor_expressions import errors
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON

Path = tuple[str | int, ...]
Patterns = Mapping[str | int, tuple[tuple[Path, bool], ...]]
"""By the first field of a path: its patterns, and whether any value may choose what they match."""
_QUANTITY = re.compile(QUANTITY, re.ASCII)
_ANY = "*"
_REST = "**"


def _by_first(data: tuple[Path, ...], author: tuple[Path, ...]) -> Patterns:
    patterns = (*((pattern, True) for pattern in data), *((pattern, False) for pattern in author))
    return {pattern[0]: tuple(each for each in patterns if each[0][0] == pattern[0]) for pattern, _ in patterns}


_DATA: tuple[Path, ...] = (
    ("labels", _ANY),
    ("annotations", _ANY),
    ("nodeSelector", _ANY),
    ("resources", _ANY, _ANY),
    ("volumeMounts", _ANY, "subPath"),
    ("volumeMounts", _ANY, "mountPath"),
    ("volumes", _ANY, "emptyDir", "sizeLimit"),
)
"""Fields that any value may choose."""
_AUTHOR: tuple[Path, ...] = (("volumes", _ANY, _REST),)
"""Fields that only values of the author may choose."""
_CONTAINERS = ("initContainers", "sidecars")
_CONTAINER_DATA: tuple[Path, ...] = (
    ("command", _ANY),
    ("args", _ANY),
    ("env", _ANY, "value"),
    ("resources", _ANY, _ANY),
    ("volumeMounts", _ANY, "subPath"),
    ("volumeMounts", _ANY, "mountPath"),
)
_CONTAINER_AUTHOR: tuple[Path, ...] = (("image",),)
_EXPANDED = frozenset({"command", "args", "env"})
"""Fields in which Kubernetes expands `$(NAME)`."""
_OF_PODS = _by_first(_DATA, _AUTHOR)
_OF_CONTAINERS = _by_first(_CONTAINER_DATA, _CONTAINER_AUTHOR)
_ELSEWHERE: tuple[Path, ...] = (("env", _ANY, "value"),)
"""Fields that are evaluated with the program of the task."""


class PodText(NamedTuple):
    """A text of a pod field that contains `${`. `by_data`: whether any value may choose it; None: not evaluated."""

    path: Path
    text: str
    by_data: bool | None

    @property
    def is_image(self) -> bool:
        """Whether it is the image of a container."""
        return self.path[-1] == "image" and self.path[0] in _CONTAINERS

    @property
    def is_quantity(self) -> bool:
        """Whether it is an amount of a resource."""
        return "resources" in (self.path[0], *self.path[2:3])

    @property
    def is_expanded(self) -> bool:
        """Whether Kubernetes expands `$(NAME)` in it."""
        return self.path[0] in _CONTAINERS and self.path[2] in _EXPANDED

    @property
    def field(self) -> str:
        """The field, such as `pod.volumes[0].secret.secretName`."""
        return "pod" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)


def texts(pod: PodFields | None) -> tuple[PodText, ...]:
    """The texts with expressions, without those of variables. A key with `${` is one that is not evaluated."""
    if pod is None or "${" not in (written := pod.model_dump_json(by_alias=True, exclude_none=True)):
        return ()
    return tuple(text for text in _texts(json.loads(written), ()) if not _matches(text.path, _ELSEWHERE))


def quantity_problem(text: PodText, value: str) -> ExpressionError | None:
    """Why the value is no amount of a resource; the API server would refuse the pod without naming the field."""
    if not text.is_quantity or _QUANTITY.fullmatch(value):
        return None
    return errors.failed(f"the value {value[:80]!r} is not a quantity, such as 500m or 2Gi")


def size(pod: PodFields | None) -> int:
    """How many characters the fields have, which is what reading their texts costs."""
    return 0 if pod is None else len(pod.model_dump_json(exclude_defaults=True))


def pointer(path: Path) -> str:
    """The JSON Pointer (RFC 6901) of a path."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def applied(pod: PodFields, values: Iterable[PodValue]) -> PodFields | ExpressionError:
    """The pod fields with these values, which must be valid as literals are. It ignores values of other fields."""
    if not (by_pointer := {value.path: value.value for value in values}):
        return pod
    body = pod.to_json()
    for text in _texts(body, ()):
        if (value := by_pointer.get(pointer(text.path))) is not None:
            _set(body, text.path, value)
    try:
        return PodFields.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        return errors.failed(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")


def missing(
    pod: PodFields, values: Iterable[PodValue], variables: Iterable[EnvValue], *, written: Iterable[PodText]
) -> str | None:
    """A field whose expressions have no value, since the pod fields changed after the TaskRun was created.

    `written` are the `texts` of the pod, which all instances of a task share.
    """
    paths, names = {value.path for value in values}, {variable.name for variable in variables}
    unknown = [text.field for text in written if pointer(text.path) not in paths]
    unknown += [f"pod.env: {each.name}" for each in pod.env if each.name not in names and "${" in (each.value or "")]
    return next(iter(unknown), None)


def _set(body: Any, path: Path, value: str) -> None:
    for part in path[:-1]:
        body = body[part]
    body[path[-1]] = value


def _texts(value: JSON, path: Path) -> list[PodText]:
    found: list[PodText] = []
    _collect(value, path, found)
    return found


def _collect(value: JSON, path: Path, found: list[PodText]) -> None:
    """Add the texts within a value. It enters containers and texts with `${` only, since a pod may have many values."""
    match value:
        case str():
            found.append(PodText(path, value, _by_data(path)))
        case dict():
            for key, item in value.items():
                if "${" in key:
                    found.append(PodText((*path, key), key, None))
                if _may_contain(item):
                    _collect(item, (*path, key), found)
        case list():
            for index, item in enumerate(value):
                if _may_contain(item):
                    _collect(item, (*path, index), found)
        case _:
            return


def _may_contain(value: JSON) -> bool:
    return "${" in value if isinstance(value, str) else isinstance(value, dict | list) and bool(value)


def _by_data(path: Path) -> bool | None:
    in_container = path[0] in _CONTAINERS
    path, patterns = (path[2:], _OF_CONTAINERS) if in_container else (path, _OF_PODS)
    if not path:
        return None
    return next((by_data for pattern, by_data in patterns.get(path[0], ()) if _fits(path, pattern)), None)


def _matches(path: Path, patterns: tuple[Path, ...]) -> bool:
    return any(_fits(path, pattern) for pattern in patterns)


def _fits(path: Path, pattern: Path) -> bool:
    if pattern[-1] == _REST:
        path, pattern = path[: len(pattern) - 1], pattern[:-1]
    return len(path) == len(pattern) and all(wanted in {_ANY, part} for part, wanted in zip(path, pattern, strict=True))
