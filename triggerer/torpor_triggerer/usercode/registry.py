"""The trigger classes that may run here, by registered name: an allow-list, not import paths.

A name on a TaskRun is looked up and never imported. Everything is imported at start, so that the loop never waits for a
disk; a class that fails to import fails only the waits that name it.

An entry whose name has a `*` is a rule: its target is a function that returns the classes of the rule by name.
"""

import logging
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from inspect import iscoroutinefunction
from typing import Any, Protocol

from torpor.triggers import BaseTrigger
from torpor.triggers.services import Services
from torpor_wire import constants

from torpor_triggerer.model.outcome import error_text, traceback_text

log = logging.getLogger(__name__)

BUILT_IN = {
    "all_of": "torpor.triggers:AllOf",
    "any_of": "torpor.triggers:AnyOf",
    "approval": "torpor.triggers:Approval",
    "cron": "torpor.triggers:Cron",
    "duration": "torpor.triggers:Duration",
    "file": "torpor.triggers:File",
    "http": "torpor.triggers:Http",
    "http_call": "torpor.triggers:HttpCall",
    "kubernetes": "torpor.triggers:Kubernetes",
    "mail": "torpor.triggers:Mail",
    "notification": "torpor.triggers:Notification",
    "object": "torpor.triggers:Object",
    "object_task": "torpor_triggerer.objects.trigger:ObjectTrigger",
    "redis": "torpor.triggers:Redis",
    "sql": "torpor.triggers:Sql",
    "taskrun": "torpor.triggers:TaskRunEnd",
    "tcp": "torpor.triggers:Tcp",
    "time": "torpor.triggers:Time",
    "webhook": "torpor.triggers:Webhook",
    "workflow": "torpor.triggers:WorkflowEnd",
}

IN_MAIN_LOOP = frozenset({constants.OBJECT_TASK})
"""Classes that are never moved to a thread: they use connections of the main loop."""


_LISTED = 30


class TriggerClass(Protocol):
    """Makes triggers from keyword arguments."""

    def __call__(self, **kwargs: Any) -> Any:
        """Return a trigger; raises for invalid arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """There is no class for a name. `log` has the traceback of a failed import."""

    message: str
    log: str = ""


class Registry:
    """Names and classes, fixed at start. A class can be replaced by a proxy."""

    def __init__(self, classes: Mapping[str, TriggerClass], broken: Mapping[str, Unknown] | None = None) -> None:
        self._classes = dict(classes)
        self._broken = dict(broken or {})
        self._replacements: dict[str, TriggerClass] = {}

    @property
    def names(self) -> frozenset[str]:
        """All registered names, usable or not."""
        return frozenset(self._classes.keys() | self._broken.keys())

    def find(self, name: str) -> TriggerClass | Unknown:
        """Return the class of a name."""
        trigger_class = self._replacements.get(name) or self._classes.get(name)
        if trigger_class is not None:
            return trigger_class
        if name in self._broken:
            return self._broken[name]
        return Unknown(
            message=f"no trigger is registered as {name[:100]!r}; there are {self._listed()}. "
            "Name the pool that has it as triggerPool, or start this pool's triggerers with "
            "--trigger name=module:Class (or TORPOR_TRIGGERS)"
        )

    def _listed(self) -> str:
        """The names for a message: a rule may register hundreds."""
        names = sorted(self._classes, key=lambda name: (name not in BUILT_IN, name))
        more = len(names) - _LISTED
        return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")

    @property
    def usable(self) -> Collection[str]:
        """The names that have a class."""
        return self._classes.keys()

    @property
    def movable(self) -> Collection[str]:
        """The names of classes that may run in a thread of their own."""
        return self._classes.keys() - IN_MAIN_LOOP

    def name_of(self, trigger_class: type, expected: str) -> str:
        """Return the name of a class, preferably the expected one; empty if it is not registered."""
        names = [name for name, registered in self._classes.items() if id(registered) == id(trigger_class)]
        return expected if expected in names else next(iter(names), "")

    def file_of(self, name: str) -> str:
        """Return the file of the class's module; empty if there is none."""
        module = sys.modules.get(getattr(self._classes.get(name), "__module__", ""))
        return getattr(module, "__file__", None) or ""

    def replace_class(self, name: str, instead: Callable[[TriggerClass], TriggerClass]) -> None:
        """Make triggers of this name by a proxy from now on."""
        self._replacements[name] = instead(self._classes[name])

    def make(self, name: str, kwargs: Mapping[str, Any], services: Services) -> Any:
        """Return a trigger, bound if it can be. Raises LookupError for an unknown name, else what the class raises."""
        trigger_class = self.find(name)
        match trigger_class:
            case Unknown(message=message):
                raise LookupError(message)
            case _:
                trigger = trigger_class(**kwargs)
        if hasattr(trigger, "bind"):
            trigger.bind(services)
        return trigger


def load(entries: Mapping[str, str], on_import: Callable[[], object] = lambda: None) -> Registry:
    """Import the built-in classes and `entries` (name to `module:Class`); call `on_import` after each."""
    classes: dict[str, TriggerClass] = {}
    broken: dict[str, Unknown] = {}
    for name, target in {**BUILT_IN, **entries}.items():
        for found, trigger_class in _loaded(name, target, on_import).items():
            if isinstance(trigger_class, BaseException):
                broken[found] = _unusable(found, target, trigger_class)
                log.error("%s", broken[found].message)
            elif found not in BUILT_IN or name == found:  # a rule replaces no built-in class
                classes[found] = trigger_class
    return Registry(classes, broken)


def is_rule(name: str) -> bool:
    """Return whether an entry allows many classes, such as `airflow.providers.**`."""
    return "*" in name


def _loaded(name: str, target: str, on_import: Callable[[], object]) -> Mapping[str, TriggerClass | BaseException]:
    """Return the classes of an entry by name, or the errors of their imports."""
    try:
        try:
            return _load_rule(name, target) if is_rule(name) else {name: _load(target)}
        finally:
            on_import()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - importing runs a stranger's module; it may call sys.exit
        return {name: error}


def _load_rule(rule: str, target: str) -> Mapping[str, TriggerClass | BaseException]:
    classes: Mapping[str, Any] = _imported(target)(rule)
    return {name: _usable(each) for name, each in classes.items()}


def _usable(trigger_class: Any) -> TriggerClass | BaseException:
    try:
        return trigger_class if isinstance(trigger_class, BaseException) else _checked(trigger_class)
    except (TypeError, ImportError) as error:
        return error


def _unusable(name: str, target: str, error: BaseException) -> Unknown:
    why = f"{target}: {type(error).__name__}: {error_text(error)}"
    return Unknown(message=f"trigger {name[:100]!r} is registered, but not usable: {why}", log=traceback_text(error))


def _load(target: str) -> TriggerClass:
    return _checked(_imported(target))


def _imported(target: str) -> Any:
    module, _, path = target.partition(":")
    imported: Any = import_module(module)
    for part in path.split("."):
        imported = getattr(imported, part)
    return imported


def _checked(trigger_class: Any) -> TriggerClass:
    """Return the class. Raises TypeError or ImportError if it cannot be used."""
    if not callable(getattr(trigger_class, "run", None)):
        raise TypeError("it has no run(), so it is not a trigger")
    if getattr(trigger_class, "blocking", False) and not _polls_in_thread(trigger_class):
        raise TypeError(
            "blocking = True is for a torpor.triggers.BaseTrigger with a plain `def poll(self)` and without a run() of "
            "its own"
        )
    _require(trigger_class)
    loaded: TriggerClass = trigger_class
    return loaded


def _polls_in_thread(trigger_class: Any) -> bool:
    has_poll = trigger_class.run is BaseTrigger.run and trigger_class.poll is not BaseTrigger.poll
    return has_poll and not iscoroutinefunction(trigger_class.poll)


def _require(trigger_class: Any) -> None:
    """Raise ImportError if a package is missing that the class imports when it runs."""
    missing = [name for name in getattr(trigger_class, "requires", ()) if find_spec(name) is None]
    if missing:
        raise ImportError(f"it needs {' and '.join(missing)}; install {trigger_class.extra} in the triggerer's image")
