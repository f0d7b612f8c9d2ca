"""The CEL validation rules in the CRDs, which apply to every client.

Rules that follow from the wire contract (allowed transitions, terminal states) are generated from it. Each rule must
stay within the API server's cost budget, which is why the models have bounds. Rules about untyped values (params, args)
or about the user are in manifests/policies.
"""

from collections.abc import Iterable

from torpor_wire import conditions, state

from torpor_api.crdgen.openapi import Schema

_BODIES = "[has(self.python), has(self.container), has(self.trigger)].filter(b, b).size()"
_WITH_BODY = f"{_BODIES} == 1 || (has(self.python) && has(self.trigger) && !has(self.container))"
_TRIGGER_TASK = "(has(self.trigger) && !has(self.python))"


def taskrun_status() -> list[Schema]:
    """Rules for TaskRun.status: allowed transitions, counters that only grow, and terminal states."""
    finished = _string_list(state.TERMINAL)
    edges = _string_list(f"{old}>{new}" for old, new in state.EDGES if old != new)
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
    """Build the CEL expression for the condition's status in the current state."""
    ends = " : ".join(f"self.state == '{end}' ? '{status}'" for end, status in conditions.STATUS.items())
    return f"({ends} : '{conditions.UNKNOWN}')"


def taskrun_spec() -> list[Schema]:
    """Rules for a TaskRun's spec: it is immutable and has one body."""
    return [
        _rule(
            "self == oldSelf", message="the spec of a TaskRun is immutable; change the Workflow, then clear the task"
        ),
        _rule(_WITH_BODY, message="give exactly one of python, container and trigger, or trigger and python"),
    ]


def workflow_spec() -> list[Schema]:
    """Rules for a Workflow's spec that concern several tasks."""
    return [
        _rule(
            "has(self.image) || self.tasks.all(t, has(t.image) || (has(t.trigger) && !has(t.python)))",
            message="a task with a pod needs an image: give the task an image, or spec.image for all of them",
            path=".image",
        ),
    ]


def workflow_task() -> list[Schema]:
    """Rules for a single task of a Workflow."""
    return [
        _rule(
            _WITH_BODY,
            message="a task has exactly one body: python, container, or trigger. A trigger may also come before python",
        ),
        _rule(
            f"{_TRIGGER_TASK} || !(has(self.result) || has(self.failWhen))",
            message="result and failWhen are for trigger tasks; a function returns its result",
        ),
        _rule(
            f"!{_TRIGGER_TASK} || !has(self.image)",
            message="a trigger task has no pod, so it takes no image",
            path=".image",
        ),
        _rule(
            f"!{_TRIGGER_TASK} || !has(self.pod)",
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
    """Rules for a volume of a task's pod: exactly one of the allowed types."""
    types = "[has(self.emptyDir), has(self.configMap), has(self.secret), has(self.persistentVolumeClaim)]"
    return [
        _rule(
            f"{types}.filter(k, k).size() == 1",
            message="a volume is exactly one of emptyDir, configMap, secret and persistentVolumeClaim",
        ),
    ]


def _rule(rule: str, *, message: str = "", explain: str = "", path: str = "") -> Schema:
    text = {"message": message} if message else {"messageExpression": explain}
    return {"rule": rule, **text} | ({"fieldPath": path} if path else {})


def _string_list(values: Iterable[str]) -> str:
    return "[" + ", ".join(f"'{value}'" for value in sorted(values)) + "]"
