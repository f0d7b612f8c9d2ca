"""Values that a shell completes from the cluster. Silent and bounded: a shell must never hang or show an error."""

import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeAlias

import click
from torpor_client.runs.references import LATEST, path_of
from torpor_client.runs.run_state import RunWord, has_ended

from torpor_cli.cluster import kubeconfig
from torpor_cli.cluster.api import ObjectSelection
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.cluster.resources import BACKFILLS, CLUSTER_TEMPLATES, NAMESPACES, SCHEDULES, TASKRUNS, TEMPLATES
from torpor_cli.errors import CliError
from torpor_cli.runs import run_lookup
from torpor_cli.schedules import lookup
from torpor_cli.target import target_of

LIMIT_S = 2.0
Query: TypeAlias = Callable[[ClusterConnection], list[str]]
"""Reads names from the cluster."""


def runs(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return names of live Workflows."""
    return _starting(incomplete, [LATEST, *_bounded(ctx, _names)])


def open_runs(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return names of live Workflows that have not ended."""
    return _starting(incomplete, [LATEST, *_bounded(ctx, _open_names)])


def tasks(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the tasks of the run that the argument `name` has."""
    given = ctx.params.get("name") or next(iter(ctx.args), "")  # click leaves it in args while an option has no value
    name = given.partition("/")[0]
    return _starting(incomplete, _bounded(ctx, lambda cluster: _task_names(cluster, name)))


def references(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return names of runs, after a slash NAME/task, and after another one NAME/task/index."""
    name, slash, rest = incomplete.partition("/")
    if not slash:
        return runs(ctx, parameter, incomplete)
    task, slash, _ = rest.partition("/")
    if slash:
        return _starting(incomplete, _bounded(ctx, lambda cluster: _instance_names(cluster, name, task)))
    return _starting(incomplete, [f"{name}/{task}" for task in _bounded(ctx, lambda c: _task_names(c, name))])


def open_references(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return names of runs that have not ended, and of their tasks and instances."""
    return (references if "/" in incomplete else open_runs)(ctx, parameter, incomplete)


def _completion(query: Query) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return the completion of the names that a query finds."""
    return lambda ctx, _parameter, incomplete: _starting(incomplete, _bounded(ctx, query))


def _open_backfill_names(cluster: ClusterConnection) -> list[str]:
    items = lookup.every(cluster, BACKFILLS)
    return [item["metadata"]["name"] for item in items if not (item.get("status") or {}).get("completionTime")]


def _namespace_names(cluster: ClusterConnection) -> list[str]:
    return [item["metadata"]["name"] for item in cluster.api.list(ObjectSelection(resource=NAMESPACES, namespace=None))]


schedules = _completion(lambda cluster: lookup.names_of(cluster, SCHEDULES))
templates = _completion(lambda cluster: lookup.names_of(cluster, TEMPLATES))
cluster_templates = _completion(lambda cluster: lookup.names_of(cluster, CLUSTER_TEMPLATES))
backfills = _completion(lambda cluster: lookup.names_of(cluster, BACKFILLS))
open_backfills = _completion(_open_backfill_names)
namespaces = _completion(_namespace_names)  # for a user who may list them


def states(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the states of runs, in lower case if the user writes so."""
    words = [str(word) for word in RunWord]
    return _starting(incomplete, [word.lower() for word in words] if incomplete.islower() else words)


def contexts(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the contexts of the kubeconfig."""
    try:
        merged = kubeconfig.merged_files(kubeconfig.paths(target_of(ctx), os.environ))
    except CliError:
        return []
    return _starting(incomplete, merged["contexts"] if merged else ())


def _names(cluster: ClusterConnection) -> list[str]:
    return [item["metadata"]["name"] for item in run_lookup.workflows(cluster)]


def _open_names(cluster: ClusterConnection) -> list[str]:
    return [item["metadata"]["name"] for item in run_lookup.workflows(cluster) if not has_ended(item)]


def _instance_names(cluster: ClusterConnection, name: str, task: str) -> list[str]:
    taskruns = cluster.api.list(run_lookup.selection_of_run(cluster, TASKRUNS, name, task))
    paths = sorted(path for item in taskruns if (path := path_of(item)))
    return [f"{name}/{task}/{'.'.join(map(str, path))}" for path in paths]


def _task_names(cluster: ClusterConnection, name: str) -> list[str]:
    return [task["name"] for task in run_lookup.find_workflow(cluster, name)["spec"].get("tasks") or ()]


def _bounded(ctx: click.Context, query: Query) -> list[str]:
    """Return what the query finds within the limit; nothing if it fails."""
    values: list[str] = []
    target = target_of(ctx)

    def run() -> None:
        with suppress(Exception):  # a shell must not show an error while a user types
            values.extend(query(connect(target)))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(LIMIT_S)
    return list(values)


def _starting(prefix: str, values: Iterable[str]) -> list[str]:
    return [value for value in values if value.startswith(prefix)]
