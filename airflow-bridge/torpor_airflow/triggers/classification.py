"""What a trigger class of Airflow needs in Torpor, from its signature and its source. Nothing of it runs.

A class that calls Airflow's API or database cannot run. A class with an argument such as `http_conn_id` needs a
connection. Every other one runs as it is.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from torpor_airflow.triggers import task_instance

API_CALLS = {
    "SUPERVISOR_COMMS": "Airflow's execution API",
    "get_dagrun_state": "Airflow's execution API",
    "get_dr_count": "Airflow's execution API",
    "get_task_states": "Airflow's execution API",
    "get_ti_count": "Airflow's execution API",
    "get_hitl_detail_content_detail": "Airflow's execution API",
    "update_hitl_detail_response": "Airflow's execution API",
    "create_session": "Airflow's database",
    "get_session": "Airflow's database",
    "provide_session": "Airflow's database",
}
"""Names by which code reaches what Torpor does not have."""

_BASES = "airflow.triggers."
_BEFORE_ON_KILL = {"get_task_instance", "get_task_state", "safe_to_cancel"}
"""Methods by which a trigger of an Airflow without `on_kill` finds out whether a user has cancelled the task."""


class Support(Enum):
    """Whether a class runs."""

    AS_IS = "as is"
    CONNECTION = "needs a connection"
    IMPOSSIBLE = "cannot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """What a class needs. `detail` names the arguments with connections, or the reason."""

    support: Support
    detail: str = ""


def classify(trigger_class: type) -> Classification:
    """Return what a class needs."""
    if getattr(trigger_class, "runs_in_torpor", False):
        return Classification(support=Support.AS_IS)
    trees = list(_sources(trigger_class))
    names = {name for tree in trees for name in _names(tree)}
    attributes = {name for tree in trees for name in _task_instance_attributes(tree)}
    return decide(_arguments(trigger_class), names, attributes)


def decide(arguments: Iterable[str], names: Iterable[str], attributes: Iterable[str]) -> Classification:
    """Return what a class with these arguments needs, whose source has these names. Pure.

    `attributes` are those of the task instance that it reads.
    """
    called = sorted(API_CALLS.keys() & set(names))
    if called:
        return Classification(support=Support.IMPOSSIBLE, detail=f"calls {called[0]}: {API_CALLS[called[0]]}")
    missing = sorted(set(attributes) - task_instance.ATTRIBUTES)
    if missing:
        return Classification(support=Support.IMPOSSIBLE, detail=f"reads task_instance.{missing[0]}")
    connections = sorted(name for name in arguments if name.endswith("conn_id"))
    if connections:
        return Classification(support=Support.CONNECTION, detail=", ".join(connections))
    return Classification(support=Support.AS_IS)


def rows(classes: Mapping[str, type | BaseException]) -> Iterator[tuple[str, str, str]]:
    """Yield class path, support and detail of each class, by path."""
    for path, each in sorted(classes.items()):
        if isinstance(each, BaseException):
            failing = "the import fails" if path.endswith(".*") else "a base class"
            yield path, Support.IMPOSSIBLE.value, f"{failing}: {type(each).__name__}: {each}"
            continue
        known = classify(each)
        yield path, known.support.value, known.detail


def _sources(trigger_class: type) -> Iterator[ast.AST]:
    """The source of the class and of its bases, without Airflow's own base classes."""
    for each in trigger_class.__mro__:
        module = each.__module__
        if module.startswith((_BASES, "torpor_airflow")) or not module.partition(".")[0] or each is object:
            continue
        with suppress(OSError, TypeError, SyntaxError):
            yield ast.parse(textwrap.dedent(inspect.getsource(each)))


def _names(tree: ast.AST) -> Iterator[str]:
    for node in _walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name
            case _:
                continue


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a class without those of methods that a wait of Torpor does not need."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in _BEFORE_ON_KILL:
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def _task_instance_attributes(tree: ast.AST) -> Iterator[str]:
    for node in _walk(tree):
        match node:
            case ast.Attribute(value=ast.Attribute(attr="task_instance"), attr=name):
                yield name
            case _:
                continue


def _arguments(trigger_class: type) -> Iterable[str]:
    """Return the arguments of the class, and those that it hands to its bases by `**kwargs`."""
    found: dict[str, None] = {}
    for each in trigger_class.__mro__:
        with suppress(TypeError, ValueError):
            if "__init__" not in vars(each) or each.__module__.startswith("torpor_airflow"):
                continue
            parameters = inspect.signature(vars(each)["__init__"]).parameters.values()
            found |= dict.fromkeys(parameter.name for parameter in parameters)
            if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters):
                break
    return found
