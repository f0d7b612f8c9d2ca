"""Values that a shell completes from the cluster. Silent and bounded: a shell must never hang or show an error."""

import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

import click

from kubectl_torpor import runs as run_lookup
from kubectl_torpor.cluster import kubeconfig
from kubectl_torpor.cluster.connect import Cluster, connect
from kubectl_torpor.errors import CliError
from kubectl_torpor.references import LATEST
from kubectl_torpor.target import target_of

LIMIT_S = 2.0


def runs(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return names of live Workflows."""
    return _starting(incomplete, [LATEST, *_bounded(ctx, _names)])


def tasks(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the tasks of the run that the argument `name` has."""
    name = ctx.params.get("name") or ""
    return _starting(incomplete, _bounded(ctx, lambda cluster: _task_names(cluster, name)))


def references(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return names of runs, and after a slash NAME/task."""
    name, slash, _ = incomplete.partition("/")
    if not slash:
        return runs(ctx, parameter, incomplete)
    return _starting(incomplete, [f"{name}/{task}" for task in _bounded(ctx, lambda c: _task_names(c, name))])


def contexts(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the contexts of the kubeconfig."""
    try:
        merged = kubeconfig.merged_files(kubeconfig.paths(target_of(ctx), os.environ))
    except CliError:
        return []
    return _starting(incomplete, merged["contexts"] if merged else ())


def _names(cluster: Cluster) -> list[str]:
    return [item["metadata"]["name"] for item in run_lookup.workflows(cluster)]


def _task_names(cluster: Cluster, name: str) -> list[str]:
    return [task["name"] for task in run_lookup.find_workflow(cluster, name)["spec"]["tasks"]]


def _bounded(ctx: click.Context, query: Callable[[Cluster], list[str]]) -> list[str]:
    """Return what the query finds within the limit; nothing if it fails."""
    found: list[str] = []
    target = target_of(ctx)

    def run() -> None:
        with suppress(Exception):  # a shell must not show an error while a user types
            found.extend(query(connect(target)))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(LIMIT_S)
    return list(found)


def _starting(prefix: str, values: Iterable[str]) -> list[str]:
    return [value for value in values if value.startswith(prefix)]
