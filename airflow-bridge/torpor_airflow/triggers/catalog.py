"""Finds the trigger classes that a rule such as `airflow.providers.**` allows, without a list that someone maintains.

Providers of Airflow declare the modules of their triggers. Of another package, every module is imported.
"""

import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from airflow.triggers.base import BaseTrigger

from torpor_airflow import no_database
from torpor_airflow.triggers import pool_trigger
from torpor_airflow.triggers.other_runs import run_triggers
from torpor_airflow.triggers.pool_trigger import PoolTrigger

_PROVIDERS = "airflow.providers."
_WILD = {"**": r".+", "*": r"[^.]+"}


def load_classes(rule: str) -> Mapping[str, type | BaseException]:
    """Return the class of each class path that the rule allows, or the error of its module or of the class.

    `*` stands for one part of a path, `**` for any number. A triggerer calls it once, at its start. From then on, code
    that asks for Airflow's database gets an error that names the call.
    """
    no_database.install()
    pattern, found = _pattern(rule), dict[str, type | BaseException]()
    for module in sorted(_modules(rule)):
        try:
            classes = list(trigger_classes(import_module(module)))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - importing runs code of others
            found[f"{module}.*"] = error
            continue
        found |= {path: _build_class(path, each) for path, each in classes if pattern.fullmatch(path)}
    return found


def _build_class(path: str, trigger_class: type) -> type | BaseException:
    """Return the class of the pool, or the error of a base class that refuses an incomplete subclass."""
    try:
        return pool_trigger.build_class(trigger_class, run_triggers.BASES.get(path, PoolTrigger))
    except Exception as error:  # noqa: BLE001 - code of others runs when a subclass is made
        return error


def trigger_classes(module: Any) -> Iterator[tuple[str, type]]:
    """Yield class path and class of each trigger that a module defines and that can be made."""
    for name, value in vars(module).items():
        if not inspect.isclass(value) or not issubclass(value, BaseTrigger):
            continue
        if value.__module__ == module.__name__ and not inspect.isabstract(value):
            yield f"{module.__name__}.{name}", value


def provider_modules() -> Iterator[str]:
    """Yield the modules with triggers of the installed providers."""
    for entry in entry_points(group="apache_airflow_provider"):
        for integration in entry.load()().get("triggers", ()):
            yield from integration["python-modules"]


def _modules(rule: str) -> set[str]:
    """The modules that may have classes of the rule."""
    fixed = rule.partition("*")[0]
    if fixed.startswith(_PROVIDERS) or _PROVIDERS.startswith(fixed):
        return {name for name in provider_modules() if name.startswith(fixed) or f"{name}.".startswith(fixed)}
    package = import_module(fixed.rstrip("."))
    paths = getattr(package, "__path__", ())
    return {package.__name__, *(each.name for each in pkgutil.walk_packages(paths, f"{package.__name__}."))}


def _pattern(rule: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*|\*)", rule)
    return re.compile("".join(_WILD.get(part, re.escape(part)) for part in parts))
