"""Airflow's database, which Torpor does not have: whoever asks for it gets an error that names the call and its line.

Airflow's own models and hooks open sessions by `create_session` and `provide_session`, and code of users by
`airflow.settings`. All of them end here.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, NoReturn

from airflow import settings

_SESSION_MODULE = "airflow.utils.session"
_AUTHORS = ("airflow.providers.", "airflow.example_dags.")
"""Packages of Airflow whose code is that of an operator, of a trigger or of a DAG."""
_THREADS = ("asgiref.", "asyncio.", "concurrent.", "threading.")
"""Packages that run a blocking function of a trigger in a thread."""
_BETWEEN = ("airflow.", "torpor_airflow.", "contextlib.", "functools.", "sqlalchemy.", *_THREADS)
"""Packages whose frames lie between the database and the code that asks for it."""
_ADVICE = "read it with a hook and a connection, or pass it as an argument, a param or an XCom"


class DatabaseAccessError(RuntimeError):
    """Code of an operator, of a trigger or of a DAG file asked for Airflow's database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePlace:
    """A line of a function of a module. A wrapper of `provide_session` has the name of the function that it wraps."""

    module: str
    function: str
    file: str
    line: int


def install() -> None:
    """Let each name of `airflow.settings` that gives a session or the engine raise DatabaseAccessError."""
    for name in ("Session", "NonScopedSession", "AsyncSession", "get_session", "get_engine", "configure_orm"):
        setattr(settings, name, _RefusedName(f"settings.{name}"))
    settings.engine = settings.async_engine = _RefusedName("settings.engine")


def describe(name: str, places: Iterable[CodePlace]) -> str:
    """Return the message for a use of `name`, from the frames below it, the innermost first. Pure."""
    called = name
    for place in places:
        if place.module == _SESSION_MODULE:
            called = place.function
        elif not _is_between(place.module):
            return f"{place.file}:{place.line} calls {called}(), which needs Airflow's database: {_ADVICE}"
    return f"{called}() needs Airflow's database: {_ADVICE}"


def _is_between(module: str) -> bool:
    return f"{module}.".startswith(_BETWEEN) and not module.startswith(_AUTHORS)


class _RefusedName:
    """Raises DatabaseAccessError when it is called, or when anything of it is used."""

    def __init__(self, name: str) -> None:
        self.__dict__["name"] = name

    def __call__(self, *_given: Any, **_others: Any) -> NoReturn:
        _refuse(self.__dict__["name"])

    def __getattr__(self, attribute: str) -> NoReturn:
        if attribute.startswith("__"):
            raise AttributeError(attribute)  # Python itself asks for them
        _refuse(f"{self.__dict__['name']}.{attribute}")


def _refuse(name: str) -> NoReturn:
    raise DatabaseAccessError(describe(name, _places(sys._getframe(2))))  # noqa: SLF001 - the one way to the caller


def _places(frame: FrameType | None) -> Iterator[CodePlace]:
    while frame is not None:
        module, function = str(frame.f_globals.get("__name__", "")), frame.f_code.co_name
        if module == _SESSION_MODULE and function == "wrapper":
            function = str(getattr(frame.f_locals.get("func"), "__qualname__", function))
        yield CodePlace(module=module, function=function, file=frame.f_code.co_filename, line=frame.f_lineno)
        frame = frame.f_back
