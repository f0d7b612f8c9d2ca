"""`torpor why`."""

import time
from collections.abc import Iterator, Sequence

import click
from torpor_client.runs import references
from torpor_client.runs.instances import check_reference, instances_at
from torpor_client.runs.references import RunReference
from torpor_views import why
from torpor_views.causes.cause import Cause
from torpor_views.facts import Facts
from torpor_views.model import RunView

from torpor_cli import output
from torpor_cli.cluster.connect import connect
from torpor_cli.options import ClusterCommand, complete_reference
from torpor_cli.output import Format, output_option
from torpor_cli.runs import run_facts
from torpor_cli.runs.run_lookup import find_run
from torpor_cli.target import TargetOptions

_INSTANCES_MAX = 50
"""Instances of a group that are explained one by one."""


@click.command("why", cls=ClusterCommand)
@click.argument("reference", metavar="NAME[/TASK[/INDEX]]", shell_complete=complete_reference)
@output_option(Format.JSON, Format.YAML, Format.NAME)
@click.pass_obj
def why_command(target: TargetOptions, reference: str, output_format: str) -> None:
    """Explain why a run, a task or an instance does not run now, with the command that helps."""
    wanted, cluster = references.parse(reference), connect(target)
    found_run = find_run(cluster, wanted.run)
    run = RunView.parse(found_run.workflow, found_run.taskruns, now=time.time())
    check_reference(wanted, run)
    facts = Facts() if found_run.archived else run_facts.read(cluster, run)
    causes = causes_of(wanted, run, facts)
    match output_format:
        case Format.JSON | Format.YAML:
            output.data(output.to_json(causes), output_format)
        case Format.NAME:
            for taskrun in dict.fromkeys(cause.taskrun for cause in causes if cause.taskrun):
                output.line(f"taskrun.torpor.dev/{taskrun}")
        case _:
            for line in lines(causes, run):
                output.line(line)


def causes_of(wanted: RunReference, run: RunView, facts: Facts) -> tuple[Cause, ...]:
    """Return the causes of what the user names."""
    if wanted.task is None:
        return why.of_run(run, facts)
    task = run.task(wanted.task)
    if task is None:  # a TaskRun of a task that the spec does not have any more
        return ()
    if wanted.path is None:
        return why.of_task(run, task, facts)
    chosen = instances_at(wanted, run)[:_INSTANCES_MAX]
    return tuple(cause for instance in chosen for cause in why.of_instance(run, task, instance, facts))


def lines(causes: Sequence[Cause], run: RunView) -> Iterator[str]:
    """Yield a sentence for each cause, and below it the command that helps."""
    if not causes:
        yield f"Run {run.name} has no task that waits; its state is {run.word}."
    for cause in causes:
        others = f" ({cause.others} more instances of {cause.task} have the same cause.)" if cause.others else ""
        yield cause.sentence + others
        if cause.command:
            yield f"    {cause.command}"
