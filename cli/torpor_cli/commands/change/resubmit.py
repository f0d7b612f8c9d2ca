"""`torpor resubmit`."""

from collections.abc import Collection, Mapping
from typing import Any

import click
from torpor_wire import constants

from torpor_cli.changes import run_params, submission
from torpor_cli.changes.submission import FollowUp
from torpor_cli.cluster.connect import connect
from torpor_cli.commands.change.wait import parse_limit
from torpor_cli.commands.view.logs import follow_logs
from torpor_cli.options import ClusterCommand, complete_run, run_options
from torpor_cli.runs import run_lookup
from torpor_cli.target import TargetOptions

_DROPPED = frozenset({"suspend", "stop", "cancel", "runOf"})
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_PREFIX_MAX = 57
"""A generated name has 63 characters at most, five of them random."""


@click.command("resubmit", cls=ClusterCommand)
@click.argument("name", metavar="NAME|@latest", shell_complete=complete_run)
@run_options
@click.pass_obj
def resubmit_command(
    target: TargetOptions,
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
    afterwards = FollowUp(wait=wait, watch=watch, logs=logs, limit=parse_limit(timeout))
    afterwards.check(1)
    cluster = connect(target)
    earlier = run_lookup.find_run_without_taskruns(cluster, name).workflow
    values = run_params.of_earlier(cluster, earlier)
    values |= run_params.given(cluster, earlier["spec"], pairs, params_file)
    body = copy_of(earlier, values)
    run = submission.create(cluster, body, dry_run=dry_run is not None)
    submission.announce(run, output_format, dry_run=dry_run is not None)
    return 0 if dry_run else submission.follow_up(cluster, [run], afterwards, follow_logs)


def copy_of(earlier: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Workflow with the spec of another, which is neither suspended nor cancelled. Pure.

    A run of a template has only the template and `values`: the operator copies the template as it is now. The event
    that started a run of a Schedule is not copied, nor are Torpor's own labels and annotations.
    """
    metadata, spec = earlier["metadata"], earlier["spec"]
    kept = {"templateRef": spec["templateRef"]} if spec.get("templateRef") else _without(spec, _DROPPED)
    annotations = _without(_foreign(metadata.get("annotations")), {_LAST_APPLIED})
    copied = {"labels": _foreign(metadata.get("labels")), "annotations": annotations}
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "Workflow",
        "metadata": {
            "generateName": _prefix(earlier),
            **{key: value for key, value in copied.items() if value},
        },
        "spec": {**_without(kept, {"params"}), **({"params": dict(values)} if values else {})},
    }


def _prefix(earlier: Mapping[str, Any]) -> str:
    """Return the begin of the new name: that of the earlier run, or the name of its Schedule."""
    metadata = earlier["metadata"]
    name = (earlier["spec"].get("runOf") or {}).get("schedule") or metadata["name"]
    return metadata.get("generateName") or f"{name[:_PREFIX_MAX].rstrip('-.')}-"


def _without(values: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in keys}


def _foreign(texts: Mapping[str, str] | None) -> dict[str, str]:
    """Return labels or annotations without those of Torpor, which are about the earlier run."""
    return {key: value for key, value in (texts or {}).items() if not key.startswith(f"{constants.GROUP}/")}
