"""`@task`: marks the functions that workflows refer to.

A marked function behaves as before, so tests can call it. Inside a `@workflow` function (torpor.authoring) a call adds
a task instead. A workflow may also name an unmarked function. If it names a function that does not exist, the message
lists the marked ones.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import update_wrapper
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload

if TYPE_CHECKING:
    from typing import Unpack

    from torpor.options import TaskOptions

_MARK = "__torpor_task__"

ClassT = TypeVar("ClassT", bound=type[Any])
P = ParamSpec("P")
R = TypeVar("R")


class TaskCalls(Protocol):
    """Gets the calls of tasks in a workflow function. `torpor.authoring` implements it, which no task pod imports."""

    def add_call(self, task: "TaskFunction[..., Any]", how: str, over: Any) -> object:
        """Add a task by a call, `expand` or `expand_kwargs`. Return the reference to its result."""


task_calls: ContextVar[TaskCalls | None] = ContextVar("torpor_task_calls", default=None)
"""Who gets the calls; None outside of workflow functions."""


class TaskFunction(Generic[P, R]):
    """A function that `@task` marks. A call outside of a workflow function is the call of the function.

    In a workflow function a call adds a task and returns a reference to its result. `options`, `after` and `partial`
    return a changed copy, so they come before the call: `load.options(retries=3).expand(path=files)`.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        update_wrapper(self, function, updated=() if isinstance(function, type) else ("__dict__",))
        self.function = function
        self.settings: Mapping[str, Any] = {}
        self.predecessors: tuple[object, ...] = ()
        self.args: tuple[Any, ...] = ()
        self.kwargs: Mapping[str, Any] = {}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function; in a workflow function, add a task and return a reference to its result."""
        if task_calls.get() is None:
            return self.function(*args, **kwargs)
        return cast("R", self.partial(*args, **kwargs)._add("call", None))  # noqa: SLF001 - of this class

    def options(self, **options: "Unpack[TaskOptions]") -> "TaskFunction[P, R]":
        """Return the task with fields of `spec.tasks`, such as `retries=3`, `rule="all_done"` or `name="load"`."""
        return self._with(settings={**self.settings, **options})

    def after(self, *references: object) -> "TaskFunction[P, R]":
        """Return the task so that it starts after other tasks or groups."""
        return self._with(predecessors=(*self.predecessors, *references))

    def partial(self, *args: Any, **kwargs: Any) -> "TaskFunction[..., R]":
        """Return the task with arguments that are the same for each instance, before `expand`."""
        return self._with(args=(*self.args, *args), kwargs={**self.kwargs, **kwargs})

    def expand(self, **over: Any) -> list[R]:
        """Add a task that is mapped over lists: one instance for each item. Return a reference to the results."""
        return cast("list[R]", self._add("expand", over))

    def expand_kwargs(self, over: Any) -> list[R]:
        """Add a task that is mapped over a list of objects, which are the arguments of the instances."""
        return cast("list[R]", self._add("expand_kwargs", over))

    def _with(self, **changes: Any) -> "TaskFunction[P, R]":
        changed = TaskFunction(self.function)
        vars(changed).update(vars(self) | changes)
        return changed

    def _add(self, how: str, over: Any) -> object:
        if (calls := task_calls.get()) is None:
            raise TypeError(f"{function_name(self)} is possible only in a @workflow function")
        return calls.add_call(self, how, over)

    def __get__(self, instance: object, owner: object = None) -> Any:
        """Bind a marked method to its object."""
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> str:
        """Return the name in the module, so that a task is pickled as a function is."""
        return self.function.__qualname__

    def __repr__(self) -> str:
        return f"<task {self.function.__module__}:{self.function.__qualname__}>"


@overload
def task(function: ClassT) -> ClassT: ...  # type: ignore[overload-overlap] # a class is callable, too
@overload
def task(function: Callable[P, R]) -> TaskFunction[P, R]: ...
def task(function: Callable[..., Any]) -> Any:
    """Mark a function, an async function or a class with `execute` as a task.

        @task
        def extract(day: str) -> list[str]:
            return list_files(day)

    The keyword arguments come from the task's `arguments`, and the returned JSON value is the result (an XCom in
    Airflow). Raises TypeError for anything that cannot be called.
    """
    if not callable(function):
        raise TypeError(f"@task decorates a function or a class, not a value of type {type(function).__name__}")
    marked_one = function if isinstance(function, type | TaskFunction) else TaskFunction(function)
    setattr(marked_one, _MARK, True)
    return marked_one


def function_name(task: TaskFunction[..., Any]) -> str:
    """Return the name of the function of a task."""
    return str(getattr(task.function, "__name__", type(task.function).__name__))


def unmarked(target: Any) -> Any:
    """Return the function of a task, and anything else as it is."""
    return target.function if isinstance(target, TaskFunction) else target


def marked(module: object) -> list[str]:
    """Return the names of the tasks in a module, sorted."""
    return [name for name, value in sorted(vars(module).items()) if _MARK in getattr(value, "__dict__", {})]
