"""The tasks of a local run that act on an object of a cluster, also in the runs that its tasks start. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from torpor_wire.enums import TemplateKind

from torpor_cli.local_run import folders

Object = Mapping[str, Any]
_WHY = "acts on an object of a cluster, and a local run has none"


def refusals(spec: Object, others: Sequence[Object], events: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each such task without an event. `others` are the objects beside the Workflow.

    Raises CliError for a body of a template that does not exist.
    """
    for task in _without_event(spec, events):
        yield f"task {task} {_WHY}; give its result with --event {task}=JSON"
    for template, workflow in _templates(spec, others):
        for task in _without_event(workflow, events):
            yield f"task {task} of {template} {_WHY}; run the Workflow in a cluster"


def _without_event(spec: Object, events: Collection[str]) -> Iterator[str]:
    return (task["name"] for task in spec.get("tasks") or () if "object" in task and task["name"] not in events)


def _templates(spec: Object, others: Sequence[Object]) -> Iterator[tuple[str, Object]]:
    """Yield the spec of each run that tasks start, also in runs in runs, with the kind and name of its template."""
    from torpor_cli.local_run import bodies  # noqa: PLC0415 - it needs pydantic

    seen, pending = set[str](), [spec]
    while pending:
        for task in pending.pop().get("tasks") or ():
            reference = (task.get("run") or {}).get("templateRef") or {}
            kind, name = reference.get("kind") or TemplateKind.NAMESPACE, reference.get("name")
            template, key = folders.by_name(others, kind).get(str(name)), f"{kind} {name}"
            if template is not None and key not in seen:
                seen.add(key)
                workflow = bodies.with_bodies(template["spec"]["workflow"], others, file=key)
                pending.append(workflow)
                yield key, workflow
