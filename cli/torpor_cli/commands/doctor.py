"""`torpor doctor`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

import click

from torpor_cli import exit_codes, output
from torpor_cli.cluster.connect import connect
from torpor_cli.diagnosis import cluster_checks, diagnose, observe
from torpor_cli.diagnosis.result import CheckResult, Status
from torpor_cli.linting import bundled
from torpor_cli.output import Format, output_option
from torpor_cli.target import ClusterCommand, TargetOptions


@click.command("doctor", cls=ClusterCommand)
@output_option(Format.JSON, Format.YAML)
@click.pass_obj
def doctor_command(target: TargetOptions, output_format: str) -> int:
    """Check the installation of Torpor.

    Each check is ok, a warning, failed, or unknown if you may not read what it needs. -n also checks the set-up of a
    namespace.

    Exit codes: 0 nothing failed, 1 a check failed.
    """
    facts = observe.observe(connect(target), chosen=target.namespace is not None)
    schemas = {plural: bundled.schema(plural) for plural in cluster_checks.KINDS.values()}
    results = diagnose.diagnose(facts, schemas, bundled.bound_policies())
    counts = Counter(str(result.status) for result in results)
    if output_format == Format.TEXT:
        _text(results)
        output.note(", ".join(f"{counts[status]} {status}" for status in Status))
    else:
        data = {**{str(status): counts[status] for status in Status}, "checks": [_plain(one) for one in results]}
        output.data(data, output_format)
    return exit_codes.FAILED if counts[Status.FAILED] else exit_codes.SUCCEEDED


def _text(results: Sequence[CheckResult]) -> None:
    for result in results:
        output.line(f"{result.status:<8} {result.check:<11} {result.message}")
        if result.action:
            output.line(f"{'':<20} > {result.action}")


def _plain(result: CheckResult) -> dict[str, str]:
    return {key: str(value) for key, value in asdict(result).items() if value}
