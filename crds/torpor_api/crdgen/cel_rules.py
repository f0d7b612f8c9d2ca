"""The CEL rules of the CRDs, which apply to every writer.

Each rule must stay within the API server's cost estimate; the models limit sizes for that. Rules that read untyped
values (params, args) or depend on the writer are in manifests/base/policies. So are all rules of TaskRuns, because the
API server evaluates the rules of a CRD at every status write (adr/0043).
"""

from torpor_api.crdgen.openapi import Schema
from torpor_api.models.base import FUNCTION

_BODIES = "[has(self.python), has(self.container), has(self.trigger)].filter(b, b).size()"
_WITH_BODY = f"{_BODIES} == 1 || (has(self.python) && has(self.trigger) && !has(self.container))"
_ONLY_WAITS = "(has(self.trigger) && !has(self.python))"


def workflow_spec() -> list[Schema]:
    """Workflow.spec: rules over several tasks."""
    return [
        _rule(
            "has(self.image) || !has(self.tasks)"
            " || self.tasks.all(t, has(t.image) || (has(t.trigger) && !has(t.python)))",
            message="a task with a pod needs an image: set image of the task, or spec.image for all tasks",
            path=".image",
        ),
    ]


def template_or_tasks() -> list[Schema]:
    """Workflow.spec: its tasks are given, or those of a template. The operator adds the latter to the spec."""
    return [
        _rule(
            "has(self.tasks) || has(self.templateRef)", message="set tasks, or templateRef with params", path=".tasks"
        )
    ]


def embedded_workflow() -> list[Schema]:
    """The spec of a Workflow within a WorkflowTemplate or a Schedule."""
    return [
        _rule("has(self.tasks)", message="set tasks", path=".tasks"),
        _rule(
            "!has(self.templateRef) && !has(self.runOf)",
            message="templateRef and runOf are fields of a run; remove them",
        ),
        _rule("!self.suspend && !self.stop && !self.cancel", message="suspend, stop and cancel are fields of a run"),
    ]


def parameter() -> list[Schema]:
    """A parameter of a WorkflowTemplate."""
    return [
        _rule(
            "!has(self.pattern) || self.type == 'string'",
            message="pattern is for parameters of type string",
            path=".pattern",
        ),
    ]


def schedule_spec() -> list[Schema]:
    """Schedule.spec: rules over several fields."""
    return [
        _rule("has(self.templateRef) != has(self.workflow)", message="set exactly one of templateRef and workflow"),
        _rule(
            "!has(self.allOf) || self.allOf.all(n, self.sources.exists(s, s.name == n))",
            message="allOf names a source that does not exist",
            path=".allOf",
        ),
        _rule("!has(self.within) || has(self.allOf)", message="within is for allOf", path=".within"),
        _rule(
            "!has(self.notBefore) || !has(self.notAfter) || timestamp(self.notBefore) < timestamp(self.notAfter)",
            message="notBefore must be before notAfter",
            path=".notAfter",
        ),
    ]


def schedule_source() -> list[Schema]:
    """A source of a Schedule."""
    return [
        _rule("has(self.cron) != has(self.trigger)", message="a source is a cron expression or a trigger"),
        _rule("!has(self.timezone) || has(self.cron)", message="timezone is for cron", path=".timezone"),
        _rule(
            "!has(self.trigger) || !has(self.trigger.timeout)",
            message="a source waits without a limit: remove trigger.timeout",
            path=".trigger",
        ),
    ]


def backfill_spec() -> list[Schema]:
    """Backfill.spec: the period cannot change."""
    return [
        _rule("timestamp(self.from) < timestamp(self.to)", message="from must be before to", path=".to"),
        _rule(
            "self.schedule == oldSelf.schedule && self.from == oldSelf.from && self.to == oldSelf.to"
            " && self.reverse == oldSelf.reverse && self.rerun == oldSelf.rerun"
            " && has(self.source) == has(oldSelf.source) && (!has(self.source) || self.source == oldSelf.source)",
            message="only concurrency, suspend and cancel of a Backfill can change; create another one",
        ),
        _rule("!oldSelf.cancel || self.cancel", message="cancel cannot be reset; create another Backfill"),
    ]


def workflow_task() -> list[Schema]:
    """One task of a Workflow."""
    return [
        _rule(
            _WITH_BODY,
            message="a task has exactly one body: python, container, or trigger. A trigger may also come before python",
        ),
        _rule(
            f"{_ONLY_WAITS} || !(has(self.result) || has(self.failWhen))",
            message="result and failWhen are for trigger tasks only",
        ),
        _rule(
            f"!{_ONLY_WAITS} || !has(self.image)",
            message="a trigger task has no pod: remove image",
            path=".image",
        ),
        _rule(
            f"!{_ONLY_WAITS} || !has(self.pod)",
            message="a trigger task has no pod: remove pod",
            path=".pod",
        ),
        _rule(
            "has(self.python) || !has(self.runtime)",
            message="runtime is for python tasks: remove runtime",
            path=".runtime",
        ),
        _rule(
            "has(self.python) || !has(self.source)",
            message="source is for python tasks: remove source",
            path=".source",
        ),
        _rule(
            "!has(self.expand) || has(self.python) || !self.expand.exists(e, has(e.map))",
            message="map works in python tasks only; use CEL: ${tasks.x.result.map(i, ...)}",
            path=".expand",
        ),
        _rule(
            "!has(self.after) || !(self.name in self.after)",
            message="a task cannot come after itself; remove its own name from after",
            path=".after",
        ),
    ]


def python_function() -> list[Schema]:
    """`python` of a task: repeats the pattern, because the schema reports only the regular expression."""
    return [_rule(f"self.matches('{FUNCTION}')", message="python is module:function, such as ingest.tasks:load")]


def volume() -> list[Schema]:
    """A volume of a task's pod: one of the allowed kinds."""
    kinds = "[has(self.emptyDir), has(self.configMap), has(self.secret), has(self.persistentVolumeClaim)]"
    return [
        _rule(
            f"{kinds}.filter(k, k).size() == 1",
            message="a volume must be exactly one of emptyDir, configMap, secret and persistentVolumeClaim",
        ),
    ]


def _rule(rule: str, *, message: str, path: str = "") -> Schema:
    return {"rule": rule, "message": message} | ({"fieldPath": path} if path else {})
