"""The metrics that authors define, of a run that has ended: as Prometheus would read them from an operator."""

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, generate_latest
from torpor_crds.models import taskrun as taskruns
from torpor_crds.models import workflow as workflows
from torpor_crds.models.base import Metadata
from torpor_expressions.evaluator import Evaluating
from torpor_operator.observability.custom_metrics import CustomMetrics
from torpor_operator.observability.custom_series import PREFIX

from torpor_local.options import Object


async def lines(workflow: Object, runs: Sequence[Object], evaluator: Evaluating) -> tuple[str, ...]:
    """Return a line for each sample, and one for each metric that has no value, with the cause."""
    try:
        parsed = workflows.parse(workflow)
    except ValueError:
        return ()  # the run failed as invalid
    if not (parsed.spec.metrics or any(task.metrics for task in parsed.spec.tasks)):
        return ()
    problems: list[str] = []

    async def report(_: Metadata, problem: str) -> None:
        problems.append(problem)

    registry = CollectorRegistry()
    metrics = CustomMetrics(evaluator, registry, report)
    for run in runs:
        metrics.on_taskrun_ended(taskruns.parse(run), parsed)
    metrics.on_run_ended(parsed)
    await metrics.drain()
    text = generate_latest(registry).decode()
    return (*(line for line in text.splitlines() if line.startswith(f"{PREFIX}_")), *problems)
