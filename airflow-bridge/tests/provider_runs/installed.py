"""The classes of the installed providers: triggers, and operators and sensors that can defer."""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.metadata import distributions, entry_points
from typing import Any

from airflow.sdk import BaseOperator
from torpor_airflow.triggers import catalog, classification

from provider_runs.page import ProviderClass
from provider_runs.row import PREFIX, provider_of

_PACKAGE = "apache-airflow-providers-"


def versions() -> dict[str, str]:
    """Return the versions of the installed providers, such as that of `microsoft-azure`."""
    return {
        name.removeprefix(_PACKAGE): each.version
        for each in distributions()
        if (name := str(each.metadata["Name"])).startswith(_PACKAGE)
    }


def classes(unrun: Mapping[str, str]) -> Iterator[ProviderClass]:
    """Yield the classes. `unrun` has the reasons why no row runs a class, by path or by the path of a module."""
    for path, support, detail in classification.rows(catalog.load_classes(f"{PREFIX}**")):
        yield _class(path, unrun, is_trigger=True, support=support, detail=detail)
    for path in sorted(set(_deferrable())):
        yield _class(path, unrun, is_trigger=False)


def _class(path: str, unrun: Mapping[str, str], **given: Any) -> ProviderClass:
    reason = next((why for name, why in unrun.items() if f"{path}.".startswith(f"{PREFIX}{name}.")), "")
    return ProviderClass(path=path, provider=provider_of(path.removeprefix(PREFIX)), unrun=reason, **given)


def _deferrable() -> Iterator[str]:
    """Yield the class paths of operators that take `deferrable`, or that call `defer`."""
    for entry in entry_points(group="apache_airflow_provider"):
        info = entry.load()()
        for kind in ("operators", "sensors"):
            for integration in info.get(kind, ()):
                for name in integration["python-modules"]:
                    with suppress(Exception):  # a module may need a library that is not installed
                        yield from _of_module(import_module(name))


def _of_module(module: Any) -> Iterator[str]:
    for name, value in vars(module).items():
        if not inspect.isclass(value) or value.__module__ != module.__name__ or not issubclass(value, BaseOperator):
            continue
        if name.startswith("_") or inspect.isabstract(value):
            continue
        if _can_defer(value):
            yield f"{module.__name__}.{name}"


def _can_defer(operator_class: type) -> bool:
    """Whether a class of the provider, or a base of it, has an argument `deferrable` or calls `self.defer`."""
    for each in operator_class.__mro__:
        if not each.__module__.startswith(PREFIX):
            continue
        with suppress(OSError, TypeError, SyntaxError):
            tree = ast.parse(textwrap.dedent(inspect.getsource(each)))
            if any(_defers(node) for node in ast.walk(tree)):
                return True
    return False


def _defers(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="defer")) | ast.arg(arg="deferrable"):
            return True
        case _:
            return False
