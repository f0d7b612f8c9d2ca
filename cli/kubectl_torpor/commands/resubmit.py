"""`torpor resubmit`."""

from collections.abc import Mapping
from typing import Any

import click
from torpor_wire import constants

from kubectl_torpor import runs
from kubectl_torpor.changes import manifest, params, submission
from kubectl_torpor.changes.submission import Afterwards
from kubectl_torpor.cluster.connect import connect
from kubectl_torpor.commands.logs import follow_logs
from kubectl_torpor.commands.run_options import run_options
from kubectl_torpor.commands.wait import parse_limit
from kubectl_torpor.target import ClusterCommand, Target, complete_run

_CONTROL = ("suspend", "stop", "cancel")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_PREFIX_MAX = 57
"""A generated name has 63 characters at most, five of them random."""


@click.command("resubmit", cls=ClusterCommand)
@click.argument("name", metavar="NAME|@latest", shell_complete=complete_run)
@run_options
@click.pass_obj
def resubmit_command(
    target: Target,
    /,
    name: str,
    pairs: tuple[str, ...],
    params_file: str | None,
    wait: bool,
    watch: bool,
    logs: bool,
    timeout: str | None,
    dry_run: str | None,
    output_format: str,
) -> int:
    """Create a new run with the spec of an earlier one, from the cluster or the archive."""
    afterwards = Afterwards(wait=wait, watch=watch, logs=logs, limit=parse_limit(timeout))
    afterwards.check(1)
    cluster = connect(target)
    earlier = runs.find_run_without_taskruns(cluster, name).workflow
    declared = earlier["spec"].get("params") or {}
    given = manifest.mapping(params_file) if params_file else {}
    params.check_names(given, declared)
    body = copy_of(earlier, {**declared, **given, **params.parse(pairs, declared)})
    made = submission.create(cluster, body, dry_run=dry_run is not None)
    submission.announce(made, output_format, dry_run=dry_run is not None)
    return 0 if dry_run else submission.follow_up(cluster, [made], afterwards, follow_logs)


def copy_of(earlier: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Workflow with the spec of another, which is neither suspended nor cancelled. Pure."""
    metadata = earlier["metadata"]
    spec = {key: value for key, value in earlier["spec"].items() if key not in _CONTROL}
    annotations = {
        key: value
        for key, value in (metadata.get("annotations") or {}).items()
        if not key.startswith(f"{constants.GROUP}/") and key != _LAST_APPLIED
    }
    copied = {"labels": metadata.get("labels"), "annotations": annotations}
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "Workflow",
        "metadata": {
            "generateName": metadata.get("generateName") or f"{metadata['name'][:_PREFIX_MAX].rstrip('-.')}-",
            **{key: value for key, value in copied.items() if value},
        },
        "spec": {**spec, "params": dict(values)} if values else spec,
    }
