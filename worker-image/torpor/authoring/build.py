"""Builds a Workflow from calls: its tasks and groups, what they run, and the check of their arguments."""

import itertools
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from torpor import options
from torpor.authoring import reference
from torpor.authoring.reference import ReferencedItem, ValueReference
from torpor.decorators import TaskFunction, function_name, task_calls, unmarked

R = TypeVar("R")
Fields = dict[str, Any]
Fixed = Sequence[str]
_BODIES = frozenset({__name__, "torpor.authoring.objects"})
"""The modules of wait, container and the other bodies without a function."""


class Build:
    """The tasks and groups of one workflow function. `open` has the groups around the present call."""

    def __init__(self) -> None:
        self.tasks: list[dict[str, Any]] = []
        self.groups: list[dict[str, Any]] = []
        self.open: tuple[str, ...] = ()

    def add_task(self, name: str, fields: Mapping[str, Any]) -> ReferencedItem:
        """Add a task under its option `name`, else under `name`, with a number if that is taken: load, load_2."""
        stem = re.sub(r"[^a-z0-9_]|^[^a-z]+", "", name.lower())[:36] or "task"
        taken = {each["name"] for each in (*self.tasks, *self.groups)}
        free = (each for number in itertools.count(1) if (each := stem + f"_{number}" * (number > 1)) not in taken)
        name = fields.get("name") or next(free)
        group = {"group": self.open[-1]} if self.open else {}
        self.tasks.append({"name": name, **group, **fields})
        return ReferencedItem(name, self.open)

    def add_group(self, name: str, fields: Mapping[str, Any]) -> ReferencedItem:
        """Add a group to the group that is open."""
        self.groups.append({"name": name, **({"in": self.open[-1]} if self.open else {}), **fields})
        return ReferencedItem(name, (*self.open, name))

    def add_call(self, task: TaskFunction[..., Any], how: str, over: Any) -> ValueReference:
        """Add a task by a call, `expand` or `expand_kwargs`. Return the reference to its result. Raises TypeError."""
        return _add_call(self, task, how, over)

    def check(self, *values: object) -> None:
        """Raise TypeError for a reference to one instance of a group that is not open."""
        for name, groups in reference.items_of(values):
            if groups != self.open[: len(groups)]:
                where = f"{name} belongs to group {groups[-1]}, and this place is outside of the group"
                raise TypeError(f"{where}; write results(x) for the results of all instances of a task x")


def required(place: str) -> Build:
    """Return the build whose workflow function runs now. Raises TypeError outside of one."""
    if not isinstance(build := task_calls.get(), Build):
        raise TypeError(f"{place} is possible only in a @workflow function")
    return build


@contextmanager
def building() -> Iterator[Build]:
    """Collect the tasks that are called inside. Raises TypeError inside a workflow function."""
    if task_calls.get() is not None:
        raise TypeError("a @workflow function cannot call another one; share tasks by a plain function that calls them")
    token = task_calls.set(Build())
    try:
        yield required("a workflow")
    finally:
        task_calls.reset(token)


def expansion(place: str, over: Mapping[str, object]) -> dict[str, Any]:
    """Return the field `expand`. Raises TypeError if it is empty."""
    if not over:
        raise TypeError(f"{place} needs name=list, such as path=files")
    required(place).check(over)
    return {"expand": [{"name": key, "over": reference.plain(over[key], f"{place}: {key}")} for key in over]}


@contextmanager
def group(name: str, /, **over: object) -> Iterator[Any]:
    """Map the tasks of a `with` block together. The reference has the fields `value`, `key` and `index` of an item."""
    place = f"group({name!r})"
    build = required(place)
    item = build.add_group(name, expansion(place, over))
    outer, build.open = build.open, item.groups
    try:
        yield ValueReference(reference.member("groups", name), (item,))
    finally:
        build.open = outer


def text(template: str, /, **values: object) -> str:
    """Return a text with references: `text("in/{day}.csv", day=day)` is `in/${params.day}.csv`."""
    required("text(...)").check(values)
    return reference.filled("text", template, {key: str(reference.plain(values[key], key)) for key in values})


def _add_call(build: Build, task: TaskFunction[..., Any], how: str, over: Any) -> ValueReference:
    name = function_name(task)
    place = f"{name}.{how}"
    options.check(name, task.settings, options.TaskOptions)
    build.check(task.args, task.kwargs, task.settings, over)
    mapped: Fields = {"expandKwargs": reference.plain(over, place)} if how == "expand_kwargs" else {}
    mapped = expansion(place, over) if how == "expand" else mapped
    later = (*(over if how == "expand" else ()), *(["event"] if "trigger" in task.settings else []))
    path = None if task.function.__module__ in _BODIES else _importable(task.function)
    args = bound(name, task, None if how == "expand_kwargs" else later)
    body: Fields = (
        {"python": path} | ({"args": args} if args else {}) if path else cast("Fields", task.function(**args))
    )
    after = list(dict.fromkeys(item_of(each).name for each in task.predecessors))
    given = {options.field_name(key): _option(name, key, value) for key, value in task.settings.items()}
    item = build.add_task(body.pop("name", name), {**({"after": after} if after else {}), **body, **mapped, **given})
    result = "results" if mapped else "result"
    return ValueReference(f"{reference.member('tasks', item.name)}.{result}", (item,))


def bound(name: str, task: TaskFunction[..., Any], later: Sequence[str] | None = ()) -> Fields:
    """Return the arguments by name. The run adds `later`, None if unknown. Raises TypeError with the signature."""
    import inspect  # noqa: PLC0415 - costs 7 ms, which a pod that imports a workflow does not pay

    signature, added = inspect.signature(task.function), set(later or ())
    bind = signature.bind_partial if later is None else signature.bind
    try:
        if twice := sorted(added & task.kwargs.keys()):
            raise TypeError(f"multiple values for argument {twice[0]!r}")
        arguments = bind(*task.args, **task.kwargs, **dict.fromkeys(added)).arguments
        for key in list(arguments):
            kind = signature.parameters[key].kind
            if kind in {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL}:
                raise TypeError(f"a task gets its arguments by name, which {key!r} does not allow")
            arguments |= arguments.pop(key) if kind is inspect.Parameter.VAR_KEYWORD else {}
    except TypeError as error:
        raise TypeError(f"{name}{signature}: {error}") from None
    return {key: reference.plain(arguments[key], f"{name}: argument {key!r}") for key in arguments if key not in added}


def results(of: R) -> list[R]:
    """Return a reference to the results of all instances of a task in a group, for a task outside of the group."""
    return cast("list[R]", ValueReference(f"{reference.member('tasks', item_of(of).name)}.results"))


def stored_file(of: object, name: str) -> Any:
    """Return a reference to an output of a task, as the source of an input: the value of `from`."""
    item = item_of(of)
    return ValueReference(f"{reference.member('tasks', item.name)}.files.{name}", (ReferencedItem(item.name, ()),))


def item_of(value: object) -> ReferencedItem:
    """Return the task or group of a reference. Raises TypeError for anything else."""
    if not isinstance(value, ValueReference) or len(items := reference.items_of(value)) != 1:
        raise TypeError(f"{value!r} is no reference that the call of a task or a group returned")
    return items[0]


def _option(task: str, name: str, value: object) -> Any:
    if name in {"when", "result", "fail_when"} and isinstance(value, ValueReference):
        return reference.cel_of(value)  # a bare expression
    return {"limit": value} if name == "retries" and type(value) is int else reference.plain(value, f"{task}: {name}")


def _importable(function: Callable[..., Any]) -> str:
    module, name = function.__module__, getattr(function, "__qualname__", "an object without a name.")
    if module == "__main__" or "." in name or not callable(getattr(sys.modules.get(module), name, None)):
        raise TypeError(
            f"{name} of {module} cannot be a task: a pod imports a task by its name, so a lambda, a local function, a "
            "method and a function of __main__ cannot be tasks; define a function at the top of a module"
        )
    return f"{module}:{name}"


def python(target: Callable[..., R] | str) -> TaskFunction[..., R]:
    """Return the task of a function without `@task`, of a class, or of `package.module:name`, which is not imported."""
    if callable(target):
        return TaskFunction(unmarked(target))

    def body(**args: Any) -> Any:
        required(target)
        return {"python": target} | ({"args": args} if args else {})

    body.__name__ = target.rpartition(":")[2]
    return TaskFunction(body)


@TaskFunction
def wait(class_name: str, *, timeout: str | None = None, kwargs: Fields | None = None, **arguments: Any) -> Any:
    """Wait for a trigger without a pod. `kwargs` has those of its arguments that are called `timeout` or `kwargs`."""
    required("wait(...)")
    call = {"class": class_name, "kwargs": arguments | (kwargs or {}), "timeout": timeout}
    return {"name": re.split(r"[.:/]", class_name)[-1], "trigger": {key: call[key] for key in call if call[key]}}


@TaskFunction
def run(  # noqa: PLR0913 - the fields of a run
    template: str,
    *,
    timeout: str | None = None,
    run_name: str | None = None,
    wait: bool = True,
    deletion_policy: str | None = None,
    params: Fields | None = None,
    **arguments: Any,
) -> Any:
    """Run a WorkflowTemplate. `params` has those of its params that have the name of an argument of this function."""
    required("run(...)")
    fields: Fields = {"params": arguments | (params or {}) or None, "timeout": timeout, "name": run_name}
    fields |= {"deletionPolicy": deletion_policy, "wait": None if wait else False}
    given = {key: value for key, value in fields.items() if value is not None}
    return {"name": template.replace("-", "_"), "run": {"templateRef": {"name": template}, **given}}


@TaskFunction
def use(body: str | Mapping[str, str], *, args: Fields | None = None, **arguments: Any) -> Any:
    """Run a body of the option `bodies`, or of a template. `args` has arguments that are called `body` or `args`."""
    required("use(...)")
    arguments |= args or {}
    name = body if isinstance(body, str) else body.get("body") or body["task"]
    given = {"args": arguments} if arguments else {}
    return {"name": name, "use": body if isinstance(body, str) else dict(body)} | given


@TaskFunction
def http(url: str | Mapping[str, Any], **fields: Any) -> Any:
    """Send an HTTP request. `fields` are method, headers, body, json, success and timeout. The result is the body."""
    required("http(...)")
    return {"name": "http", "http": {"url": url, **fields}}


@TaskFunction
def container(  # noqa: PLR0913 - the fields of a container
    image: str,
    *,
    command: Fixed = (),
    args: Fixed = (),
    env: Mapping[str, object] | None = None,
    script: str = "",
    interpreter: Sequence[str] = (),
    result: str | Mapping[str, str] = "",
    steps: Sequence[Mapping[str, Any]] = (),
    outcome: bool = False,
    tools: bool = False,
    trigger_secrets: Sequence[Mapping[str, str]] = (),
    **variables: Any,
) -> Any:
    """Run a program of an image, or a script. `variables`, and `env` with any names, are environment variables.

    `result` is `stdout`, `exitCode`, or `{"path": FILE}`. `steps` are programs that run in order in one pod. A
    reference in a list of words becomes its items.
    """
    required("container(...)")
    entries = [
        {"name": key, "value": value if isinstance(value, str) else json.dumps(value)}
        for key, value in (env or {}).items()
    ]
    body = {
        "command": command,
        "args": args,
        "env": entries,
        "script": script,
        "interpreter": interpreter,
        "result": result,
        "steps": steps,
        "outcome": outcome,
        "triggerSecrets": trigger_secrets,
        "tools": tools,
    }
    program = {key: body[key] for key in body if body[key]}
    return {"image": image, "container": program} | ({"args": variables} if variables else {})
