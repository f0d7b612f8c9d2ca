"""Creates Workflows, and then waits for them, follows them, or prints their logs."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from torpor_cli import errors, output
from torpor_cli.cluster.api import Object
from torpor_cli.cluster.connect import ClusterConnection
from torpor_cli.cluster.errors import ConflictError
from torpor_cli.cluster.resources import WORKFLOWS
from torpor_cli.errors import ExitCode
from torpor_cli.following import live, waiting
from torpor_cli.following.waiting import Goal
from torpor_cli.output import Format

FollowLogs: TypeAlias = Callable[[ClusterConnection, str, float | None], None]
"""Prints the logs of the run of this name until it ends, for at most so many seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """What to do after the creation. `limit` is in seconds."""

    wait: bool = False
    watch: bool = False
    logs: bool = False
    limit: float | None = None

    def check(self, number: int) -> None:
        """Raise UsageError for a combination that cannot be shown."""
        if self.watch + self.logs > 1:
            raise errors.UsageError("--watch and --logs exclude each other; use one")
        if self.limit is not None and not (self.wait or self.watch or self.logs):
            raise errors.UsageError("--timeout needs --wait, --watch or --logs")
        if number > 1 and (self.watch or self.logs):
            raise errors.UsageError(f"--watch and --logs show one run, not {number}; use --wait")


def create(cluster: ClusterConnection, body: dict[str, Any], *, dry_run: bool = False) -> Object:
    """Create a Workflow in the namespace of the command. Raises CliError."""
    metadata = dict(body["metadata"])
    named = metadata.setdefault("namespace", cluster.namespace)
    if named != cluster.namespace:
        raise errors.CliError(f"the file names namespace {named}, not {cluster.namespace}; add -n {named}")
    try:
        return cluster.api.create(WORKFLOWS, cluster.namespace, {**body, "metadata": metadata}, dry_run=dry_run)
    except ConflictError as error:
        name = metadata.get("name")
        raise errors.CliError(
            f"run {name} exists already; delete it, use metadata.generateName, or `torpor resubmit {name}`"
        ) from error


def announce(run: Object, output_format: str, *, dry_run: bool = False) -> None:
    """Print the name of a run first, so that a script and a person have it."""
    if output_format == Format.TEXT:
        output.line(run["metadata"]["name"])
        if dry_run:
            output.note("the API server accepts it; nothing was created (server dry run)")
    else:
        output.objects([run], output_format, single=True)
    output.flush()


def follow_up(cluster: ClusterConnection, runs: list[Object], afterwards: FollowUp, follow_logs: FollowLogs) -> int:
    """Wait for the runs as the options say. Return the exit code."""
    limit = afterwards.limit
    if afterwards.logs:
        began = time.monotonic()
        try:
            follow_logs(cluster, runs[0]["metadata"]["name"], limit)
        except KeyboardInterrupt:
            output.note(f"interrupted; {runs[0]['metadata']['name']} goes on")
            return ExitCode.INTERRUPTED
        limit = None if limit is None else max(limit - (time.monotonic() - began), 0.0)
    if afterwards.watch:
        return live.follow(cluster, runs[0], limit=limit)
    if afterwards.wait or afterwards.logs:
        return waiting.wait(cluster, runs, Goal.END, limit)
    return ExitCode.SUCCEEDED
