"""Where expressions of pod fields are, and who may choose their values (ADR 0059). Pure.

An expression replaces a text, never a key, a list or an object, so data cannot add a field. A field that names a Secret
or another object takes values of the author only. A field that is not listed here has no expressions.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pydantic import ValidationError
from torpor_crds.models.pod_fields import EnvValue, PodFields, PodValue
from torpor_expressions import errors
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON

Path = tuple[str | int, ...]
_ANY = "*"
_REST = "**"
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
    def is_expanded(self) -> bool:
        """Whether Kubernetes expands `$(NAME)` in it."""
        return self.path[0] in _CONTAINERS and self.path[2] in _EXPANDED

    @property
    def field(self) -> str:
        """The field, such as `pod.volumes[0].secret.secretName`."""
        return "pod" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)


def texts(pod: PodFields | None) -> tuple[PodText, ...]:
    """The texts with expressions, without those of variables. A key with `${` is one that is not evaluated."""
    if pod is None:
        return ()
    return tuple(text for text in _texts(pod.to_json(), ()) if not _matches(text.path, _ELSEWHERE))


def pointer(path: Path) -> str:
    """The JSON Pointer (RFC 6901) of a path."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def applied(pod: PodFields, values: Iterable[PodValue]) -> PodFields | ExpressionError:
    """The pod fields with these values, which must be valid as literals are. It ignores values of other fields."""
    if not (by_pointer := {value.path: value.value for value in values}):
        return pod
    body = pod.to_json()
    for text in tuple(_texts(body, ())):
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


def _texts(value: JSON, path: Path) -> Iterator[PodText]:
    match value:
        case str() if "${" in value:
            yield PodText(path, value, _by_data(path))
        case dict():
            for key, item in value.items():
                if "${" in key:
                    yield PodText((*path, key), key, None)
                yield from _texts(item, (*path, key))
        case list():
            for index, item in enumerate(value):
                yield from _texts(item, (*path, index))
        case _:
            return


def _by_data(path: Path) -> bool | None:
    data, author = _DATA, _AUTHOR
    if path[0] in _CONTAINERS:
        path, data, author = path[2:], _CONTAINER_DATA, _CONTAINER_AUTHOR
    if _matches(path, data):
        return True
    return False if _matches(path, author) else None


def _matches(path: Path, patterns: tuple[Path, ...]) -> bool:
    return any(_fits(path, pattern) for pattern in patterns)


def _fits(path: Path, pattern: Path) -> bool:
    if pattern[-1] == _REST:
        path, pattern = path[: len(pattern) - 1], pattern[:-1]
    return len(path) == len(pattern) and all(wanted in {_ANY, part} for part, wanted in zip(path, pattern, strict=True))
