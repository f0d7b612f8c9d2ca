"""`@workflow`: a function whose calls of tasks build a Workflow."""

from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, Unpack, get_origin, get_type_hints, overload

from torpor import options
from torpor.authoring import build, reference
from torpor.authoring.reference import ValueReference
from torpor.decorators import TaskFunction
from torpor.options import WorkflowOptions

P = ParamSpec("P")
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


class Workflow(Generic[P]):
    """A workflow function. A call returns the Workflow as a dict, with the arguments as the values of its params."""

    def __init__(self, function: Callable[P, object], settings: Mapping[str, Any]) -> None:
        update_wrapper(self, function)
        options.check(f"@workflow of {function.__name__}", settings, WorkflowOptions)
        self.function = function
        self.settings = settings

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        """Return the Workflow. Raises TypeError for what cannot be built, or if a param has no value."""
        return self.build(build.bound(self.function.__name__, TaskFunction(self.function).partial(*args, **kwargs)))

    def build(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the Workflow with values of params. A param without value and default is null."""
        name, params = self.function.__name__, {param["name"]: param.get("default") for param in self.params()} | values
        function: Callable[..., object] = self.function
        with build.building() as built:
            returned = function(**{key: ValueReference(reference.member("params", key)) for key in params})
        settings = {options.field_name(key): reference.plain(self.settings[key], key) for key in self.settings}
        groups = {"groups": built.groups} if built.groups else {}
        built.check(returned)
        result = _result(name, returned)
        spec = {**({"params": params} if params else {}), **result, **settings, **groups, "tasks": built.tasks}
        metadata = {"generateName": f"{name.strip('_').lower().replace('_', '-')}-"}
        return {"apiVersion": "torpor.dev/v1alpha1", "kind": "Workflow", "metadata": metadata, "spec": spec}

    def params(self) -> list[dict[str, Any]]:
        """Return name, type and default of each param, as a WorkflowTemplate declares them."""
        import inspect  # noqa: PLC0415 - see build

        name, hints, declared = self.function.__name__, get_type_hints(self.function), []
        if any(check(self.function) for check in (inspect.iscoroutinefunction, inspect.isgeneratorfunction)):
            raise TypeError(f"{name}: a workflow function has no async and no yield")
        for parameter in inspect.signature(self.function).parameters.values():
            if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
                raise TypeError(f"{name}: param {parameter.name!r} must be a plain argument, without *, ** and /")
            hint = hints.get(parameter.name)
            kind = {"type": _TYPES[origin]} if (origin := get_origin(hint) or hint) in _TYPES else {}
            default = (
                {}
                if parameter.default is parameter.empty
                else {"default": reference.plain(parameter.default, f"{name}: {parameter.name}")}
            )
            declared.append({"name": parameter.name, **kind, **default})
        return declared


def _result(name: str, returned: object) -> dict[str, Any]:
    """Return the field `result` for what the function returned. Raises TypeError for anything but a reference."""
    if returned is None:
        return {}
    if not isinstance(returned, ValueReference):
        raise TypeError(f"{name} returned {returned!r}; return what a task returned, or expression(...): its result")
    return {"result": reference.cel_of(returned)}


@overload
def workflow(function: Callable[P, object], /) -> Workflow[P]: ...
@overload
def workflow(**settings: Unpack[WorkflowOptions]) -> Callable[[Callable[P, object]], Workflow[P]]: ...
def workflow(function: Any = None, /, **settings: Any) -> Any:
    """Make a workflow of a function: its arguments are the params. `@workflow(image=...)` sets fields of the spec."""
    return Workflow(function, settings) if function else lambda decorated: Workflow(decorated, settings)
