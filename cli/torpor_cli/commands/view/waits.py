"""`torpor waits`."""

import time
from collections.abc import Callable, Iterator, Sequence

import click
from torpor_views.waiting import wait_groups
from torpor_views.waiting.wait_groups import WaitGroup
from torpor_wire import times

from torpor_cli import output
from torpor_cli.cluster.api import Object, ObjectSelection
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.cluster.resources import TASKRUNS
from torpor_cli.options import ClusterCommand
from torpor_cli.output import Format, output_option
from torpor_cli.target import TargetOptions

_SOURCE_MAX = 70
_HEAD = ("POOL", "CLASS", "SOURCE", "WAITS", "TRIGGERS", "QUERIES", "STUCK", "OLDEST", "NEXT")
_WIDE_HEAD = (
    *("POOL", "NAMESPACE", "RUN", "TASK", "WAITS-FOR", "SHARED-WITH"),
    *("SINCE", "TRIES", "NEXT", "REASON", "LOOK"),
)
_DEFERRED = "status.state=Deferred"


@click.command("waits", cls=ClusterCommand)
@click.option("-A", "--all-namespaces", is_flag=True, help="Waits of all namespaces.")
@click.option("-l", "--selector", default="", help="Only TaskRuns with these labels.")
@output_option()
@click.pass_obj
def waits_command(target: TargetOptions, all_namespaces: bool, selector: str, output_format: str) -> None:
    """List what deferred tasks wait for, by pool and source.

    TRIGGERS is the number of running triggers, since equal waits share one. QUERIES is the number of polls in each
    round, since triggers on one source can share a poll. `-o wide` lists each wait.
    """
    cluster = connect(target)
    taskruns = _deferred(cluster, selector, everywhere=all_namespaces)
    now = time.time()
    groups = wait_groups.build(taskruns, now=now)
    match output_format:
        case Format.JSON | Format.YAML:
            output.data(output.to_json(groups), output_format)
        case Format.NAME:
            output.objects(taskruns, output_format, single=False)
        case _ if not groups:
            where = "in any namespace" if all_namespaces else f"in namespace {cluster.namespace}"
            output.note(f"no task waits {where}")
        case Format.WIDE:
            output.print_table(_WIDE_HEAD, list(wide_rows(groups, now)))
        case _:
            output.print_table(_HEAD, [row(group, now) for group in groups])


def _deferred(cluster: ClusterConnection, labels: str, *, everywhere: bool) -> list[Object]:
    namespace = None if everywhere else cluster.namespace
    return cluster.api.list(ObjectSelection(resource=TASKRUNS, namespace=namespace, labels=labels, fields=_DEFERRED))


def row(group: WaitGroup, now: float) -> list[str]:
    """Return the line of a pool and a source."""
    numbers = [str(len(group.waits)), str(group.triggers), str(group.queries), str(group.stuck)]
    source = output.shortened(group.source, _SOURCE_MAX)
    return [group.pool, group.class_name, source, *numbers, _ago(group.oldest, now), _in(group.next_at, now)]


def wide_rows(groups: Sequence[WaitGroup], now: float) -> Iterator[list[str]]:
    """Yield a line for each wait."""
    for group in groups:
        for wait in group.waits:
            yield [
                *(group.pool, wait.namespace, wait.workflow, wait.ref, wait.waits_for, str(wait.shares)),
                *(_ago(wait.since, now), str(wait.tries), _in(wait.next_at, now), wait.reason, wait.look),
            ]


def _written(text: Callable[[float], str], moment: float | None) -> str:
    return "" if moment is None else text(moment)


def _ago(moment: float | None, now: float) -> str:
    return _written(lambda at: times.human(now - at), moment)


def _in(moment: float | None, now: float) -> str:
    return _written(lambda at: times.human(at - now) if at > now else "now", moment)
