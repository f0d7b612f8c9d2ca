"""The CEL rules that the CRDs carry: what binds every writer, whoever it is.

Generated where the wire contract is their source (legal edges, terminal states), so that API server and controllers
cannot disagree. Each rule must stay within the API server's cost estimate, hence the bounds in the models. What needs
to look into untyped values (params, args) or to ask who is writing stands in manifests/policies.
"""

from collections.abc import Iterable

from torpor_wire import conditions, state

from torpor_api.crdgen.openapi import Schema

_BODIES = "[has(self.python), has(self.container), has(self.trigger)].filter(b, b).size()"
_WITH_BODY = f"{_BODIES} == 1 || (has(self.python) && has(self.trigger) && !has(self.container))"
_ONLY_WAITS = "(has(self.trigger) && !has(self.python))"


def taskrun_status() -> list[Schema]:
    """Transitions of TaskRun.status: legal edges, counters that only grow, finished is finished."""
    finished = _texts(state.TERMINAL)
    edges = _texts(f"{old}>{new}" for old, new in state.EDGES if old != new)
    return [
        _rule(
            f"self.state == oldSelf.state || (oldSelf.state + '>' + self.state) in {edges}",
            explain="'a TaskRun does not go from ' + oldSelf.state + ' to ' + self.state",
            path=".state",
        ),
        _rule(
            f"!(oldSelf.state in {finished}) || self == oldSelf",
            explain="'this TaskRun is ' + oldSelf.state + ', which is final; clear the task to run it again'",
        ),
        _rule(
            "self.attempt >= oldSelf.attempt",
            message="attempt only grows",
            path=".attempt",
        ),
        _rule(
            "self.segment >= oldSelf.segment || self.attempt > oldSelf.attempt",
            message="segment only grows within an attempt",
            path=".segment",
        ),
        _rule(
            "self.launch >= oldSelf.launch || self.segment > oldSelf.segment || self.attempt > oldSelf.attempt",
            message="launch only grows within a segment",
            path=".launch",
        ),
        _rule(
            "!(has(self.result) && has(self.stored))",
            message="status has either result or stored, not both",
            path=".stored",
        ),
        _rule(
            f"!has(self.conditions) || self.conditions.all(c, c.type != '{conditions.TYPE}' || c.status == {_due()})",
            explain=f"'condition {conditions.TYPE} of a TaskRun that is ' + self.state + ' is ' + {_due()}",
            path=".conditions",
        ),
    ]


def _due() -> str:
    """CEL: the status of the condition that the state asks for."""
    ends = " : ".join(f"self.state == '{end}' ? '{status}'" for end, status in conditions.STATUS.items())
    return f"({ends} : '{conditions.UNKNOWN}')"


def taskrun_spec() -> list[Schema]:
    """A TaskRun's spec: written once, and one kind of body."""
    return [
        _rule(
            "self == oldSelf", message="the spec of a TaskRun is immutable; change the Workflow, then clear the task"
        ),
        _rule(_WITH_BODY, message="give exactly one of python, container and trigger, or trigger and python"),
    ]


def workflow_spec() -> list[Schema]:
    """A Workflow's spec: what concerns more than one task."""
    return [
        _rule(
            "has(self.image) || self.tasks.all(t, has(t.image) || (has(t.trigger) && !has(t.python)))",
            message="a task with a pod needs an image: give the task an image, or spec.image for all of them",
            path=".image",
        ),
    ]


def workflow_task() -> list[Schema]:
    """A task, taken by itself."""
    return [
        _rule(
            _WITH_BODY,
            message="a task has exactly one body: python, container, or trigger. A trigger may also come before python",
        ),
        _rule(
            f"{_ONLY_WAITS} || !(has(self.result) || has(self.failWhen))",
            message="result and failWhen are for trigger tasks; a function returns its result",
        ),
        _rule(
            f"!{_ONLY_WAITS} || !has(self.image)",
            message="a trigger task has no pod, so it takes no image",
            path=".image",
        ),
        _rule(
            f"!{_ONLY_WAITS} || !has(self.pod)",
            message="a trigger task has no pod, so it takes no pod fields",
            path=".pod",
        ),
        _rule(
            "!has(self.expand) || has(self.python) || !self.expand.exists(e, has(e.map))",
            message="map is a function of a python task's image; use CEL here: ${tasks.x.result.map(i, ...)}",
            path=".expand",
        ),
        _rule(
            "!has(self.after) || !(self.name in self.after)",
            message="a task cannot come after itself; remove its own name from after",
            path=".after",
        ),
    ]


def volume() -> list[Schema]:
    """A volume of a task's pod: one of the safe kinds."""
    kinds = "[has(self.emptyDir), has(self.configMap), has(self.secret), has(self.persistentVolumeClaim)]"
    return [
        _rule(
            f"{kinds}.filter(k, k).size() == 1",
            message="a volume is exactly one of emptyDir, configMap, secret and persistentVolumeClaim",
        ),
    ]


def _rule(rule: str, *, message: str = "", explain: str = "", path: str = "") -> Schema:
    said = {"message": message} if message else {"messageExpression": explain}
    return {"rule": rule, **said} | ({"fieldPath": path} if path else {})


def _texts(values: Iterable[str]) -> str:
    return "[" + ", ".join(f"'{value}'" for value in sorted(values)) + "]"
