"""The CEL rules of the CRDs, which apply to every writer.

Each rule must stay within the API server's cost estimate; the models limit sizes for that. Rules that read untyped
values (params, args) or depend on the writer are in manifests/base/policies. So are all rules of TaskRuns and of the
spec of a Workflow, because the API server evaluates the rules of a CRD at every write of metadata and status (ADR 0043,
ADR 0044).
"""

from torpor_crds.crdgen.openapi import Schema


def parameter() -> list[Schema]:
    """A parameter of a WorkflowTemplate."""
    return [
        _rule(
            "!has(self.pattern) || self.type == 'string'",
            message="pattern is for parameters of type string",
            path=".pattern",
        ),
    ]


def allowed_namespaces() -> list[Schema]:
    """ClusterWorkflowTemplate.spec.allowedNamespaces."""
    return [
        _rule(
            "has(self.names) && self.names.size() > 0 || has(self.selector)",
            message="set names or selector; selector: {} allows all namespaces",
        ),
    ]


def label_requirement() -> list[Schema]:
    """A condition of a selector."""
    return [
        _rule(
            "(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
            message="In and NotIn need values; Exists and DoesNotExist have none",
            path=".values",
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


def _rule(rule: str, *, message: str, path: str = "") -> Schema:
    return {"rule": rule, "message": message} | ({"fieldPath": path} if path else {})
